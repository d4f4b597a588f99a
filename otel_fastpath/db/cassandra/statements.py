"""What is executed: the text of a statement, and whether it has values beside the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.db.conventions import plain
from otel_fastpath.db.queries.parameters import has_any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # Text, and whether values are passed beside it, of a statement and its parameters.
    Reader = Callable[[Any, Any], tuple[str, bool]]

# How many different texts of a batch are in its name and text.
MOST_SHOWN: Final = 16
# For what is no statement: the driver reports the error itself.
_UNKNOWN: Final = ""
# self and the statement
_BEFORE_PARAMETERS: Final = 2


def statement_of(args: Any, kwargs: Any) -> Any:
    """The statement among the arguments of `execute_async`."""
    return args[1] if len(args) > 1 else kwargs.get("query")


def parameters_of(args: Any, kwargs: Any) -> Any:
    """Its parameters; None: none were passed."""
    return args[_BEFORE_PARAMETERS] if len(args) > _BEFORE_PARAMETERS else kwargs.get("parameters")


def _text(statement: Any, parameters: Any) -> tuple[str, bool]:
    return statement, has_any(parameters)


def _simple(statement: Any, parameters: Any) -> tuple[str, bool]:
    return statement.query_string, has_any(parameters)


def _bound(statement: Any, _parameters: Any) -> tuple[str, bool]:
    return statement.prepared_statement.query_string, bool(statement.values)


def of_any(statement: Any, parameters: Any) -> tuple[str, bool]:
    """The text of a statement of any class, such as a subclass of one of the driver's."""
    for kind, reader in readers().items():
        if issubclass(type(statement), kind):
            text, has = reader(statement, parameters)
            return text if type(text) is str else plain(text), has
    return _UNKNOWN, False


# The class of a statement, but for batches -> its reader; filled by `readers`.
READERS: dict[Any, Reader] = {}


def readers() -> Mapping[Any, Reader]:
    """`READERS`, filled."""
    if not READERS:
        from cassandra import query  # noqa: PLC0415  # a wrapper does not import its library: it is there by now

        READERS.update(
            {
                str: _text,
                query.SimpleStatement: _simple,
                query.PreparedStatement: _simple,
                query.BoundStatement: _bound,
            }
        )
    return READERS


class StatementBatch(NamedTuple):
    """The statements of a batch.

    Attributes:
        texts: Their texts, each once, the first of them.
        size: The number of all.
        has_arguments: Whether values are passed beside each text.
    """

    texts: tuple[str, ...]
    size: int
    has_arguments: bool


def of_batch(statement: Any, prepared: Mapping[Any, Any]) -> StatementBatch:
    """Read a batch, given the cluster's prepared statements by their ids."""
    entries = statement._statements_and_parameters
    found: dict[Any, tuple[bool, Any]] = {}
    try:
        for is_prepared, what, values in entries:
            if what not in found:
                if len(found) == MOST_SHOWN:
                    break
                text = getattr(prepared.get(what), "query_string", _UNKNOWN) if is_prepared else what
                found[what] = bool(is_prepared and values), text if issubclass(type(text), str) else _UNKNOWN
    except TypeError:
        # Something without a hash, such as a list, in the place of a text.
        return StatementBatch((_UNKNOWN,), len(entries), has_arguments=False)
    return StatementBatch(
        tuple([text for _, text in found.values()]),
        len(entries),
        all(has_arguments for has_arguments, _ in found.values()),
    )
