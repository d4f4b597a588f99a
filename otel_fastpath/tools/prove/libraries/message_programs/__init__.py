"""Clients of brokers of messages; a module for each library."""
