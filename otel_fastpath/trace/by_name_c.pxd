# C types for the compiled twin of by_name.py.
cdef _remember(object provider, object plan, object made, tuple asked, object found)
