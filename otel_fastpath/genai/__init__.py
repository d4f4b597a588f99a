"""What the wrappers of clients of models share."""
