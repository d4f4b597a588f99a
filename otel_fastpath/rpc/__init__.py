"""Remote procedure calls: a folder for each library that makes and serves them."""
