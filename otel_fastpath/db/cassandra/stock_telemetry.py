"""The attributes and names of spans as in the stock instrumentation, which ours replaces.

Its own functions return them. Unless everything must be the same, the text of a statement is told without the values
that the stock instrumentation prints with it.
"""

from __future__ import annotations

import copy
import inspect
import sys
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace

from otel_fastpath.db.conventions import Conventions
from otel_fastpath.db.stand_ins import OneTracer
from otel_fastpath.patching.stock import Reached

if TYPE_CHECKING:
    from otel_fastpath.db.conventions import QueryText
    from otel_fastpath.db.server_attributes import Server
    from otel_fastpath.wrapping.library import Setup

_STOCK: Final = "opentelemetry.instrumentation.cassandra"
_NAME: Final = "Cassandra"


class StockConventions(Conventions):
    """What the stock instrumentation emits, under its own scope.

    Args:
        setup: Our wrapper's set-up, with the keyword arguments that the stock instrumentor was given.

    Attributes:
        captures: Whether each statement must be printed as the stock instrumentation does.
    """

    def __init__(self, setup: Setup) -> None:
        self._module: Any = sys.modules[_STOCK]
        self._has_text = bool(setup.keywords.get("include_db_statement"))
        self.captures = self._has_text and setup.is_same
        self._signal = self._module._OpenTelemetryStabilitySignalType.DATABASE
        stability = self._module._OpenTelemetrySemanticConventionStability
        stability._initialize()
        self._mode = stability._get_opentelemetry_stability_opt_in_mode(self._signal)
        self._of_session: dict[str, Any] = {}
        self.stock = Reached([(self._module, "_instrument")])

    def of_session(self, keyspace: str | None, contact_points: Any) -> StockConventions:
        """The same for sessions with this keyspace and these contact points of their cluster."""
        made = copy.copy(self)
        found = made._of_session = {}
        self._module._set_db_system(found, "cassandra", self._mode)
        self._module._set_db_name(found, keyspace, self._mode)
        self._module._set_http_net_peer_name_client(found, contact_points, self._mode)
        return made

    def tracer(self, tracer_provider: Any) -> Any:
        schema = self._module._get_schema_url_for_signal_types([self._signal])
        return trace.get_tracer(_STOCK, self._module.__version__, tracer_provider, schema_url=schema)

    def name(self, query: QueryText, server: Server, prefix: str) -> str:  # noqa: ARG002  # the protocol's
        return _NAME

    def attributes(self, query: QueryText, server: Server, prefix: str) -> dict[str, Any]:  # noqa: ARG002  # likewise
        has_text = self._has_text and not self.captures
        return {**self._of_session, **(self.of_text(query.text) if has_text else {})}

    def of_text(self, text: str) -> dict[str, Any]:
        """What it tells of a statement, printed as this text."""
        found: dict[str, Any] = {}
        self._module._set_db_statement(found, text, self._mode)
        return found


def given_keywords(_instrumentor: Any) -> dict[str, Any]:
    """The keyword arguments that the stock instrumentor was given: its wrapper of `execute_async` has them."""
    wrapper = sys.modules["cassandra.cluster"].Session.execute_async._self_wrapper
    held = inspect.getclosurevars(wrapper).nonlocals
    return {"include_db_statement": held["include_db_statement"], "tracer_provider": OneTracer(held["tracer"])}
