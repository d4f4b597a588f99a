"""Programs that use a library with its instrumentation; a module for each library, which need not be installed."""
