"""Drain the queue: pollers and renewals in this event loop, decoding and tracing in child processes."""
