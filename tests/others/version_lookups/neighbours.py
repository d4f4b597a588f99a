"""Makes other instrumentations look versions up and prints, as JSON, what was looked up and what they got.

Its argument is `stock` or `fastpath`.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from counting import counted

CALLS = 3


def pretend_mysqlclient() -> ModuleType:
    """A driver of the name whose version is looked up; the real one needs a C library to be built."""
    folder = Path(tempfile.mkdtemp())
    info = folder / "mysqlclient-2.2.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mysqlclient\nVersion: 2.2.9\n")
    sys.path.append(str(folder))
    driver: Any = ModuleType("MySQLdb")
    driver._mysql = ModuleType("_mysql")
    driver._mysql.get_client_info = lambda: "8.4"
    return driver


def main() -> None:
    """Run the mode that was asked for."""
    mode = sys.argv[1]
    if mode == "fastpath":
        from otel_fastpath.instrumentor import FastpathInstrumentor

        FastpathInstrumentor().instrument()
    from opentelemetry.instrumentation.dbapi import DatabaseApiIntegration
    from opentelemetry.instrumentation.groq import utils as groq
    from pydantic import BaseModel

    class Answer(BaseModel):
        text: str = "oak"

    driver = pretend_mysqlclient()

    def connect() -> Any:
        return DatabaseApiIntegration("x", "mysql", enable_commenter=True, connect_module=driver).commenter_data

    found: dict[str, Any] = {"dbapi": connect(), "groq": groq.model_as_dict(Answer())}
    for name, call in (("dbapi", connect), ("groq", lambda: groq.model_as_dict(Answer()))):
        with counted() as calls:
            for _ in range(CALLS):
                call()
        found[f"{name}_calls"] = dict(calls)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
