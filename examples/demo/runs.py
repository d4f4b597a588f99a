"""The runs of a service: each starts its own processes, measures them in turns, and stops them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from examples.demo.measure import Leg, Plan, measure, settle
from examples.demo.processes import Processes
from examples.demo.services import ask, start_service
from examples.demo.subjects import FASTPATH, STOCK, TRACED, Subject

# What OpenTelemetry has of its own is longer than a run: the end of one would not be measured, and metrics not at all.
INTERVALS = {
    "OTEL_BSP_SCHEDULE_DELAY": "1000",
    "OTEL_BLRP_SCHEDULE_DELAY": "1000",
    "OTEL_METRIC_EXPORT_INTERVAL": "10000",
}
# Longer than a batch waits, so that silence means the end.
SILENCE_S = 1.5


@dataclass(frozen=True)
class Given:
    """What the runs need.

    Attributes:
        processes: Starts and stops the services.
        settings: What the services are to know: the addresses of their servers.
        receiver: Where telemetry goes.
        progress: Called with what is being done, and how many runs are done.
    """

    processes: Processes
    settings: Mapping[str, str]
    receiver: str
    progress: Callable[[str, float], None]


def run(subject: Subject, number: int, plan: Plan, given: Given) -> dict[str, Leg]:
    """Measure every way of a service once.

    Args:
        subject: The service.
        number: The number of the run.
        plan: How much to send.
        given: What the runs need.

    Returns:
        The measurements of each way, by its name.
    """

    def tell(what: str, share: float) -> None:
        given.progress(f"run {number + 1}: {what}", number + share)

    tell("starting services", 0.0)
    settings = {**given.settings, **INTERVALS}
    services = {
        way.name: start_service(
            given.processes,
            way.base,
            settings,
            given.receiver,
            folder=subject.folder,
            run=_name(subject, way.name, number),
            signals=way.signals,
            disabled=subject.disabled,
        )
        for way in subject.ways()
    }
    for service in services.values():
        service.wait()
    legs = [Leg(name, service.port, service.child) for name, service in services.items()]
    tell("sending requests", 0.2)
    measure(legs, plan, given.processes.interrupts, lambda share: tell("sending requests", 0.2 + 0.7 * share), number)
    tell("awaiting exports", 0.9)
    exporting = [_name(subject, name, number) for name in services if name != "bare"]
    settle(legs, plan, lambda: [ask(given.receiver, name) for name in exporting], SILENCE_S)
    for service in services.values():
        service.child.ask_to_stop()
    for service in services.values():
        service.child.stop()
    return {leg.name: leg for leg in legs}


def received(subject: Subject, runs: int, given: Given) -> dict[str, dict[str, Any]]:
    """How much all runs of the services with every signal sent, as `examples.telemetry` summarises it."""
    found = {}
    for way in TRACED:
        summaries = [ask(given.receiver, f"{_name(subject, way, number)}/summary") for number in range(runs)]
        found[way] = {
            "spans": sum(each["span_count"] for each in summaries),
            "metric_series": max(each["metric_series"] for each in summaries),
            "log_records": sum(each["log_records"] for each in summaries),
            "wire_bytes": sum(each["wire_bytes"] for each in summaries),
            "faults": {name: count for each in summaries for name, count in each["faults"].items()},
            "signals": sorted(name for name, count in summaries[0]["exports"].items() if count),
        }
    return found


def differences(
    subject: Subject, runs: int, sent: Mapping[str, Mapping[str, Any]], given: Given
) -> tuple[list[str], list[str]]:
    """Compare what was sent, as `otel-fastpath verify` does: every run with otel-fastpath to all runs without it.

    Returns:
        One sentence for each difference, none if the telemetry is the same; and the names of what differs deliberately.
    """
    found: list[str] = []
    listed: set[str] = set()
    for way, summary in sent.items():
        found += [f"{way} sent an invalid span, {count} times: {fault}" for fault, count in summary["faults"].items()]
        if missing := set(subject.signals) - set(summary["signals"]):
            found.append(f"{way} sent no {' and no '.join(sorted(missing))}, so there is nothing to compare")
    stock = "&".join(f"stock={_name(subject, STOCK, number)}" for number in range(runs))
    for number in range(runs):
        given.progress("comparing", runs + number / runs)
        compared = ask(given.receiver, f"compare?{stock}&fastpath={_name(subject, FASTPATH, number)}")
        found += sentences(compared)
        listed.update(compared["listed"])
    return list(dict.fromkeys(found)), sorted(listed)


def sentences(compared: Mapping[str, Any]) -> list[str]:
    """The differences that `otel-fastpath verify` found, as sentences."""
    own = [f"{name}: {count['fastpath']} items of otel-fastpath's own" for name, count in compared["own"].items()]
    return own + [
        f"{each['signal']} {each['name']!r} of {each['scope'] or 'no scope'}: {each['field']}: "
        f"only stock: {each['stock'] or 'nothing'}, only fastpath: {each['fastpath'] or 'nothing'}"
        for each in compared["differences"]
    ]


def _name(subject: Subject, way: str, number: int) -> str:
    return f"{subject.name}-{number + 1}-{way}"
