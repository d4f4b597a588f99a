# C types for the compiled twin of carriers.py.
cpdef first_value(object carrier, object name, object getter)
cpdef tuple known(object value)
cpdef put(object carrier, object name, object value, object setter)
