"""Our own instrumentation of libraries: one folder per library, each exporting LIBRARY.

A wrapper never imports its library: its patches are applied when the application does. See `library.Library` for what
a wrapper declares, and `call` for what it does around a call. `register` lists them.
"""
