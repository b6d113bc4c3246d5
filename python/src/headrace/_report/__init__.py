"""How pipelines, loaders and errors are shown to people."""
