"""The attributes and names of spans: the stable database conventions, or those of a stock instrumentation.

The convention is chosen once for each set-up, and applied once for each text that is cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace

from otel_fastpath.compiled import hot
from otel_fastpath.patching import faults, interpreter
from otel_fastpath.wrapping.call import Failure, error_type

if TYPE_CHECKING:
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.patching.stock import Stock

BATCH: Final = "BATCH "
CURSOR: Final = "CURSOR "
PREPARE: Final = "PREPARE "
LONGEST_PARAMETER: Final = 256
# The text of a value whose own methods raise.
UNREADABLE: Final = "<?>"
_TEXTS: Final = (str, bytes, bytearray)
_ENDS: Final[dict[Any, str]] = {list: "[]", tuple: "()", dict: "{}", set: "{}"}
# A span of the SDK has 128 attributes: more would replace those of the query.
_MOST_PARAMETERS: Final = 100
_SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"


@dataclass(slots=True)
class QueryText:
    """What is known of a query text.

    Attributes:
        raw: The text.
        text: The text for the attribute: unchanged if that is safe, else without its literals.
        first: The first word.
        summary: Its operations and their targets.
        operation: The first operation, in upper case.
        procedure: The procedure that CALL calls.
    """

    raw: str
    text: str = ""
    first: str = ""
    summary: str = ""
    operation: str = ""
    procedure: str = ""

    def stated(self, prefix: str) -> str:
        """The summary with this prefix; fetching the rows of a cursor is not an operation of its own."""
        stated = f"{prefix}{self.summary}" if prefix and prefix != CURSOR else self.summary
        return stated.strip()


def unread(raw: Any) -> QueryText:
    """What is known of a text without reading it."""
    text = raw if type(raw) is str else plain(raw)
    return QueryText(text, text)


def plain(raw: Any) -> str:
    """The text as a plain string; empty for what is no text: the library reports this error itself."""
    # A subclass may override methods, and `__class__` may be anything.
    return str.__str__(raw) if issubclass(type(raw), str) else ""


def read(raw: Any, *, has_arguments: bool) -> QueryText:
    """Read a text, once.

    Args:
        raw: The text.
        has_arguments: Whether arguments were passed with it. Only then its values are not in the text, which may be
            recorded unchanged. A parameter in the text proves nothing: PREPARE has them, and EXECUTE has their values.
    """
    raw = raw if type(raw) is str else plain(raw)
    if not raw:
        return QueryText("")
    found = hot.db_queries_sql.scan(raw)
    text = raw if has_arguments and found.takes_arguments else found.text
    return QueryText(raw, text, found.first, found.summary, found.operation, found.procedure)


class Conventions:
    """How the attributes and names of spans are made.

    Attributes:
        captures: Whether the parameters of queries become attributes, regardless of our options.
        comments: Whether a comment is added to queries, likewise.
        stock: The functions of stock that it stands for; None: none.
    """

    captures = False
    comments = False
    stock: Stock | None = None

    def tracer(self, tracer_provider: Any) -> Any:
        """The tracer for the instrumentation scope."""
        raise NotImplementedError

    def name(self, query: QueryText, server: Server, prefix: str) -> str:
        """The span's name; the prefix comes before the summary: "BATCH ", "PREPARE "."""
        raise NotImplementedError

    def attributes(self, query: QueryText, server: Server, prefix: str) -> dict[str, Any]:
        """The span's attributes at its start."""
        raise NotImplementedError

    def parameters(self, args: Any) -> Mapping[str, Any]:  # noqa: ARG002  # for those who override it
        """The attributes for a query's parameters."""
        return {}

    def batch_parameters(self, given: Any) -> Mapping[str, Any]:
        """The attributes for the arguments after the text of a query with several sets of parameters."""
        return self.parameters(given)


class StableConventions(Conventions):
    """The stable database conventions, under a scope of our own."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    def tracer(self, tracer_provider: Any) -> Any:
        return trace.get_tracer(self._scope, interpreter.version("otel-fastpath"), tracer_provider, _SCHEMA)

    def name(self, query: QueryText, server: Server, prefix: str) -> str:
        return query.stated(prefix) or server.namespace or server.system.name

    def attributes(self, query: QueryText, server: Server, prefix: str) -> dict[str, Any]:
        found = server.attributes()
        if query.text:
            found["db.query.text"] = query.text
        summary = query.stated(prefix)
        if summary:
            found["db.query.summary"] = summary
        if query.procedure:
            found["db.stored_procedure.name"] = query.procedure
        return found

    def parameters(self, args: Any) -> Mapping[str, Any]:
        try:
            given = args.items() if isinstance(args, Mapping) else enumerate(args)
            return {f"db.query.parameter.{key}": shorten(value) for key, value in islice(given, _MOST_PARAMETERS)}
        except Exception as error:
            faults.raise_interruption(error)
            # What the driver does not take, or what the application's own methods raise.
            return {}

    def batch_parameters(self, given: Any) -> Mapping[str, Any]:  # noqa: ARG002  # the protocol's
        # The conventions define no attribute for several sets.
        return {}


def shorten(value: Any) -> str:
    """A parameter as text, cut to a length; what is cut of a container or a text is not made into text first.

    Never raises.
    """
    try:
        if isinstance(value, _TEXTS):
            return str(value[:LONGEST_PARAMETER])
        text = _written(value, LONGEST_PARAMETER) if isinstance(value, tuple(_ENDS)) else str(value)
        return text[:LONGEST_PARAMETER]
    except Exception as error:  # the application's own methods may raise
        faults.raise_interruption(error)
        return UNREADABLE


def _written(value: Any, room: int) -> str:
    """A value as Python writes it, about as long as there is room; there is less of it for each level of containers."""
    if isinstance(value, _TEXTS):
        return repr(value[:room])
    base = next((each for each in _ENDS if isinstance(value, each)), None)
    if base is None or not value:
        return repr(value)
    parts: list[str] = []
    # In one step: another thread may change the container.
    for each in list(islice(value.items() if base is dict else value, room)):
        if room <= 0:
            break
        pair = each if base is dict else (each,)
        parts.append(": ".join([_written(part, room - 1) for part in pair]))
        room -= len(parts[-1]) + 2
    comma = "," if base is tuple and len(value) == 1 else ""
    return f"{_ENDS[base][0]}{', '.join(parts)}{comma}{_ENDS[base][1]}"


def failure(error: BaseException, status_code: Any = None) -> Failure:
    """Describe an exception, without its message, which may contain data of a row or a parameter.

    The message is in the exception's event, as with every instrumentation.
    """
    if isinstance(error, GeneratorExit):
        return Failure("")
    recorded = isinstance(error, Exception)
    description = type(error).__qualname__
    if isinstance(status_code, str) and status_code:
        return Failure(status_code, {"db.response.status_code": status_code}, description, recorded)
    return Failure(error_type(error), None, description, recorded)
