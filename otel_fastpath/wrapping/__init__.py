"""What the instrumentations of libraries share; they are in the folders `db`, `genai` and `http`.

The folder of a library exports LIBRARY, a wrapper, or PATCHES of stock's hooks; `otel_fastpath.features` lists them. A
wrapper never imports its library: its patches are applied when the application does. See `library.Library` for what a
wrapper declares, and `call` for what it does around a call.
"""
