"""What the HTTP clients share: the attributes of calls and of responses, propagation and suppression."""
