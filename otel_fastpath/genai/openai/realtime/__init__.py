"""Realtime sessions: websockets, their events and the content of a session."""
