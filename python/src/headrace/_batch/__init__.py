"""What a batch is made of: arrays, text and objects over the memory of the engine."""
