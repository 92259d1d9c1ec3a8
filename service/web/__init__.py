"""HTTP over the use cases: async Flask views that parse, call one use case, and render."""
