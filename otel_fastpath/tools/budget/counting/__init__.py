"""What runs in the measured process, and counts there."""
