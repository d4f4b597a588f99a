"""Our own instrumentation of mysqlclient: its patches, and the instrumentation that it replaces."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.dbapi import mysql
from otel_fastpath.db.mysqlclient.patches import PATCHES
from otel_fastpath.db.mysqlclient.query_plans import DATABASE

LIBRARY: Final = mysql.library(DATABASE, PATCHES, "MySQLClientInstrumentor", "MySQLdb")
