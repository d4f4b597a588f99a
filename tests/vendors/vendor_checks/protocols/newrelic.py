"""New Relic's collector: one JSON body for each kind of data, which the query's `method` names."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from vendor_checks.items import Item, SpanName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vendor_checks.receiver import Request

PATHS = re.compile(r"^/agent_listener/invoke_raw_method$")
_CONNECTED = {
    "agent_run_id": "1",
    "account_id": "1",
    "primary_application_id": "1",
    "trusted_account_key": "1",
    "entity_guid": "ENTITY",
    "product_level": 50,
    "collect_errors": True,
    "collect_error_events": True,
    "collect_analytics_events": True,
    "collect_span_events": True,
    # Traces are of the slowest transactions, which are others in each run.
    "collect_traces": False,
    "data_report_period": 60,
    "sampling_target": 1000,
    "sampling_target_period_in_seconds": 60,
    "span_event_harvest_config": {"report_period_ms": 60000, "harvest_limit": 2000},
    "event_harvest_config": {
        "report_period_ms": 60000,
        "harvest_limits": {
            "analytic_event_data": 1200,
            "custom_event_data": 3600,
            "error_event_data": 100,
            "log_event_data": 833,
            "span_event_data": 2000,
        },
    },
}
_ANSWERS = {"preconnect": {"redirect_host": "127.0.0.1"}, "connect": _CONNECTED, "get_agent_commands": []}
_EVENTS = {"analytic_event_data", "error_event_data", "span_event_data", "custom_event_data"}


def _method(request: Request) -> str:
    return parse_qs(urlsplit(request.path).query)["method"][0]


def answer(request: Request) -> tuple[int, str, bytes]:
    """What the collector returns for the method."""
    value = {"return_value": _ANSWERS.get(_method(request))}
    return 200, "application/json", json.dumps(value).encode()


def decode(request: Request) -> list[Item]:
    """The events, errors, log lines and metrics; what tells of the agent and of its process is left out."""
    method = _method(request)
    if method not in {*_EVENTS, "error_data", "log_event_data", "metric_data"}:
        return []
    return list(_items(method, json.loads(request.body)))


def _items(method: str, body: Any) -> Iterator[Item]:
    if method in _EVENTS:
        for event in body[-1]:
            yield _event(method, event)
    elif method == "error_data":
        for error in body[-1]:
            # Time, transaction, message, type, parameters.
            yield Item(f"New Relic {method}", f"{error[1]} {error[3]}", error)
    elif method == "metric_data":
        for about, numbers in body[-1]:
            yield Item(f"New Relic {method}", json.dumps(about, sort_keys=True), {"about": about, "calls": numbers[0]})
    else:
        for group in body:
            for line in group["logs"]:
                yield Item(f"New Relic {method}", line["message"], {"group": {**group, "logs": ""}, "line": line})


def _event(method: str, event: list[dict[str, Any]]) -> Item:
    about = event[0]
    name = about.get("name") or about.get("transactionName") or about.get("type", "")
    spans = ()
    if about.get("type") == "Span":
        spans = (SpanName(about["traceId"], about["guid"], name),)
    return Item(f"New Relic {method}", name, event, spans)
