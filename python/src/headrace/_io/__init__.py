"""What `headrace.io` is made of."""
