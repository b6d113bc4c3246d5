"""The process that runs functions of the user for the engine."""
