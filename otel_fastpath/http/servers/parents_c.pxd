# C types for the compiled twin of parents.py.

cpdef remote(dict environ)
cpdef tuple start(object tracer, object name, dict environ, dict attributes, object start_time=*)
