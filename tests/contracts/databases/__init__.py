"""What the wrapper of each database library must do: suites that the tests of a library join by a subclass.

A subclass says in its attributes what the library is asked and what it answers; the fixtures `run` and
`stock_instrumentor` are those of the library's folder. Each callable in a table gets a connection, and what it returns
is awaited if it can be.
"""

from contracts.databases.contract import by_hand, type_of, wait
from contracts.databases.errors import Errors
from contracts.databases.operations import Operations
from contracts.databases.outcome import Outcome
from contracts.databases.takeover import StockCommenter, Takeover
from contracts.databases.transparency import Transparency

__all__ = [
    "Errors",
    "Operations",
    "Outcome",
    "StockCommenter",
    "Takeover",
    "Transparency",
    "by_hand",
    "type_of",
    "wait",
]
