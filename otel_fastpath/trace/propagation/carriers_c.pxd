# C types for the compiled twin of carriers.py.
cpdef put(object carrier, object name, object value, object setter)
