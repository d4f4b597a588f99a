"""The same calls under the stock instrumentation and under ours."""
