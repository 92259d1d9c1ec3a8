"""Leases, jobs, people and HTTP. The tracer is a pure function to this package; see docs/ for the map of rooms."""
