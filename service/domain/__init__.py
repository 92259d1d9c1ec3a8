"""Frozen records and pure functions: the rules of leases, jobs, receipts and access. No I/O, no clock of its own."""
