"""What the methods of a pipeline were given, as its recipe has it."""
