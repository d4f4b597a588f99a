"""What the wrappers of databases share."""
