"""The patch engine: declares a patch, checks whether it may be applied, applies it and undoes it."""
