"""Turns arguments of a pipeline's methods into a recipe."""
