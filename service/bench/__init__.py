"""Load and contention against a running service, with a checker over what was recorded."""
