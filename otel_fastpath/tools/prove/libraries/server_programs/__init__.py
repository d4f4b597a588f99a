"""Applications of HTTP servers; a module for each library."""
