"""Instrumentation of libraries: the folder of each exports LIBRARY, a wrapper of ours, or patches stock hooks.

A wrapper never imports its library: its patches are applied when the application does. See `library.Library` for what
a wrapper declares, and `call` for what it does around a call. `register` lists them.
"""
