"""The engine: what a patch is, whether it may be applied, how it is put in place and taken off again."""
