"""Whether a patch may be applied: the source of what it replaces, and of what it stands for."""
