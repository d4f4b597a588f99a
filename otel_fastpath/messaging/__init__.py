"""Messages: a folder for each library that sends and receives them."""
