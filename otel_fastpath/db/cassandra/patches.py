"""The patches of the driver, and the hook of this folder that each one uses."""

from __future__ import annotations

from typing import Final

from otel_fastpath.db.cassandra import future_callbacks, futures, hooks
from otel_fastpath.db.cassandra.query_plans import DATABASE

# The same driver under two names: ScyllaDB's is a fork.
_DRIVERS: Final = "cassandra-driver>=3.30,<4 | scylla-driver>=3.29,<4"

_REQUEST: Final = "A request is a span, which ends when its result is there."
_RESULT: Final = "Ends the span of a request or of a page, with what is known of it then."
_WAIT: Final = "A span whose result is no longer waited for ends, with the exception that interrupted waiting."
_CALLBACK: Final = "A callback runs in the context in which it was added: `execute_concurrent` is in one trace."

# The name of a patch, the attribute of `cassandra.cluster`, why, and the hook.
# Those that bring results are in place before those that submit requests.
_HOOKS: Final = (
    ("result", "ResponseFuture._set_final_result", _RESULT, futures.make_result),
    ("exception", "ResponseFuture._set_final_exception", _RESULT, futures.make_exception),
    ("execute", "Session.execute_async", _REQUEST, hooks.make_execute),
    ("prepare", "Session.prepare", "Preparing a statement is a span.", hooks.make_prepare),
    ("connect", "Cluster.connect", "Making a session is a span.", hooks.make_connect),
    ("page", "ResponseFuture.start_fetching_next_page", "Each further page is a span.", hooks.make_page),
    (
        "speculative",
        "ResponseFuture._on_speculative_execute",
        "Speculative executions are counted.",
        futures.make_speculative,
    ),
    ("wait", "ResponseFuture.result", _WAIT, futures.make_wait),
    ("wait.execute", "Session.execute", _WAIT, futures.make_blocking),
    ("wait.page", "ResultSet.fetch_next_page", _WAIT, futures.make_blocking),
    ("callback", "ResponseFuture.add_callback", _CALLBACK, future_callbacks.make_add),
    ("errback", "ResponseFuture.add_errback", _CALLBACK, future_callbacks.make_add),
)
_BUDGETS: Final = {
    "execute": "execute_async",
    "prepare": "prepare",
    "connect": "connect",
    "page": "page",
    "speculative": "execute_async",
    "callback": "callbacks",
    "errback": "callbacks",
}


PATCHES: Final = tuple(
    DATABASE.patch(name, f"cassandra.cluster:{target}", why, make, _BUDGETS.get(name, "execute"), requires=(_DRIVERS,))
    for name, target, why, make in _HOOKS
)
