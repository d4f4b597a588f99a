"""The whole of OpenAI's protocol on loopback, with every way to fail: `python -m loopback --port 0`."""
