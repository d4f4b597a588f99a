"""A shop that takes orders."""
