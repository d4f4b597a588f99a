"""Which code a sample belongs to, and what could be saved."""
