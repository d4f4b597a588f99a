# C types for the compiled twin of redaction.py.

cpdef bint needs_redaction(str url) except -1
