"""Print, as JSON, the patches of version lookups that are in force in a process that is started as the service is."""

import json

# Imported by the instrumentation as well; patches wait for the import of their targets.
import openai  # noqa: F401

from otel_fastpath.instrumentor import FastpathInstrumentor

if __name__ == "__main__":
    rows = FastpathInstrumentor().status()
    print(json.dumps([row.name for row in rows if row.state == "applied" and row.name.startswith("versions.")]))
