"""The text of a query: its operations and tables, its comment and its parameters."""
