"""What is read of responses: models, streamed chunks and their messages."""
