"""What the OTLP equivalence tests share: spans that hypothesis makes, and encoders looked at from outside."""
