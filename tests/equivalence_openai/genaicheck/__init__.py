"""The same calls under the official instrumentation and under ours."""
