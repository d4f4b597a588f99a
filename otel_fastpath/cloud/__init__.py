"""Calls of cloud services, a folder for each library."""
