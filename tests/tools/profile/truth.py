"""Compares what a profile says with the truth: the same service with and without telemetry, under the same load.

    make profile-truth
    make profile-truth ARGS="--service demo --rounds 20"

The truth is 1 - CPU per request without telemetry / CPU per request with it, medians of rounds in turns. The profile
runs meanwhile, in the service with telemetry; what it costs itself, which its recordings name, is taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import kinds

from examples.demo import measure as demo
from examples.demo import services
from examples.demo.database import postgresql
from examples.demo.processes import Processes, interrupts, listening, running, wait_until
from examples.founding_case import measure as founding
from examples.founding_case.environment import provide
from examples.founding_case.services import ENVIRONMENT, FASTPATH, WITH, WITHOUT, Case
from examples.inventory import __main__ as inventory
from examples.inventory.loads import calls
from otel_fastpath import settings
from otel_fastpath.tools.profile import analysis
from otel_fastpath.tools.profile.attribution import package_parts
from otel_fastpath.tools.profile.order import Order, write_injected
from otel_fastpath.tools.profile.profile_file import SUFFIX, Recording
from otel_fastpath.tools.profile.sampler import RATE
from otel_fastpath.tools.profile.session import FINISH

ROOT = Path(__file__).parents[3]
# Leg -> the way of the service, and the core.
LEGS = {"stock": ("stock", ""), "pure": ("fastpath", "py"), "compiled": ("fastpath", "c")}
# How far a profile may be from the truth: of the example services, and of the kinds of services.
MOST = 0.05
MOST_OF_KIND = 0.08
SILENCE_S = 6.5


@dataclass
class Profiled:
    """A service with telemetry that is being profiled.

    Attributes:
        folder: Where its recordings are written.
        began: When the measurement began, `time.monotonic()`.
    """

    folder: Path
    began: float = 0.0

    def environment(self) -> dict[str, str]:
        """What starts the profile."""
        self.folder.mkdir(parents=True)
        order = Order(str(self.folder), None, 0, RATE)
        found = settings.with_profile_order(order.as_text(), write_injected(self.folder))
        return {name: found[name] for name in (settings.PROFILE_ORDER, "PYTHONPATH")}

    def measuring(self) -> None:
        """From now on."""
        self.began = time.monotonic()

    def finish(self) -> None:
        """Until now. The processes of a service do not begin together, but they end together."""
        (self.folder / FINISH).touch()
        self.kept = round(time.monotonic() - self.began)

    def report(self):
        """The report, and the part of the CPU time that the profile took."""
        found = [Recording.read(path) for path in self.folder.glob(f"*{SUFFIX}")]
        for each in found:
            each.main = each.main[-self.kept :]
            each.others = each.others[-self.kept :]
        return analysis.report(found), sum(each.own for each in found) / sum(each.cpu for each in found)


def arguments(given=None):
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--service", choices=sorted(SERVICES), action="append", help="one of them; by default, all")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each service (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="write what is left of the cost with otel-fastpath down")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "profile-truth", help="folder of the results")
    return parser.parse_args(given)


def demo_service(options, processes: Processes, out: Path):
    """The demo service: FastAPI, asyncpg and OpenAI under uvicorn."""
    given = {"DATABASE_URL": os.environ.get("DATABASE_URL") or postgresql(processes)}
    receiver = services.start_server(processes, "otlp_receiver")
    given["OPENAI_BASE_URL"] = f"{services.start_server(processes, 'openai_server')}/v1"
    profiled, legs = {}, []
    for name, (way, core) in {"bare": ("bare", ""), **LEGS}.items():
        own = dict(given)
        if core:
            own["OTEL_FASTPATH_CORE"] = core
        if name != "bare":
            profiled[name] = Profiled(out / name)
            own |= profiled[name].environment()
        service = services.start_service(processes, way, own, receiver)
        service.wait()
        legs.append(demo.Leg(name, service.port, service.child))
    plan = demo.Plan(200, options.rounds)
    for leg in legs:
        demo._round(leg, plan, 1, processes.interrupts)
    measuring(profiled)
    demo.measure(legs, plan, processes.interrupts, lambda _share: None)
    time.sleep(SILENCE_S)
    return profiled, legs, {leg.name: leg.cpu_per_request for leg in legs}


def inventory_service(options, processes: Processes, out: Path):
    """The inventory service: aiohttp and asyncpg, with the load `mix`."""
    database = os.environ.get("DATABASE_URL") or postgresql(processes)
    receiver = services.start_server(processes, "otlp_receiver")
    profiled, legs = {}, []
    for name, (way, core) in {"bare": ("bare", ""), **LEGS}.items():
        _, launcher, environment = inventory.LEGS[way]
        own = {**environment, "DATABASE_URL": database, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{receiver}/{way}"}
        if core:
            own["OTEL_FASTPATH_CORE"] = core
        if name != "bare":
            profiled[name] = Profiled(out / name)
            own |= profiled[name].environment()
        port = services.free_port()
        command = [*launcher, sys.executable, str(inventory.HERE / "app.py"), "--port", str(port)]
        child = processes.start(name, command, cwd=inventory.HERE, env=services.clean_environment(own))
        wait_until(lambda port=port: listening(port), child)
        legs.append(demo.Leg(name, port, child))
    for number in range(options.rounds + 1):
        if number == 1:
            measuring(profiled)
        for leg in legs:
            if number:
                leg.mark(400)
            sent = processes.interrupts.run(inventory.send(leg.port, calls("mix", 400, number), inventory.CONNECTIONS))
            assert not sent.wrong, sent.wrong[0]
    time.sleep(SILENCE_S)
    return profiled, legs, {leg.name: leg.cpu_per_request for leg in legs}


def founding_case(options, processes: Processes, out: Path):
    """The founding case: FastAPI and OpenAI's client under gunicorn, with Traceloop's instrumentation."""
    programs = provide(ENVIRONMENT)
    world, receiver = (services.start_server(processes, name) for name in ("founding_case.world", "otlp_receiver"))
    ways = {"bare": (WITHOUT, ""), "stock": (WITH, ""), "pure": (FASTPATH, "py"), "compiled": (FASTPATH, "c")}
    profiled, legs = {}, {}
    for name, (way, core) in ways.items():
        own = {"OTEL_FASTPATH_CORE": core} if core else {}
        if name != "bare":
            profiled[name] = Profiled(out / name)
            own |= profiled[name].environment()
        case = Profiling(programs, world, receiver, 1, metrics=False, own=own)
        child, port = case.start(processes, way)
        legs[name] = founding.Leg(name, port, child)
        founding._round(legs[name], world, 40)
    measuring(profiled)
    for number in range(options.rounds):
        for name, leg in legs.items():
            if name == "stock" and number % 4:
                continue
            requests = 20 if name == "stock" else 60
            leg.mark(requests)
            founding._round(leg, world, requests)
    time.sleep(2)
    return profiled, list(legs.values()), {name: leg.rounds for name, leg in legs.items()}


@dataclass(frozen=True)
class Profiling(Case):
    """The founding case with further variables."""

    own: dict[str, str] = field(default_factory=dict)

    def _environment(self, name: str) -> dict[str, str]:
        return {**super()._environment(name), **self.own}


def measuring(profiled) -> None:
    """The measurement begins."""
    for each in profiled.values():
        each.measuring()


def of_kind(kind: str):
    """Measures a service of `kinds`."""
    return lambda options, processes, out: kinds.service(kind, options, processes, out, Profiled)


SERVICES = {
    "demo": demo_service,
    "founding": founding_case,
    "inventory": inventory_service,
    **{kind: of_kind(kind) for kind in kinds.KINDS},
}


def most(service: str) -> float:
    """How far a profile of this service may be from the truth."""
    return MOST_OF_KIND if service in kinds.KINDS else MOST


def interval(bare, with_telemetry, own: float) -> tuple[float, float]:
    """The 90 % interval of the truth: medians of rounds that are drawn again."""
    draw = random.Random(1)  # noqa: S311  # it is to repeat, not to be unguessable
    found = sorted(
        1
        - statistics.median(draw.choices(bare, k=len(bare)))
        / (statistics.median(draw.choices(with_telemetry, k=len(with_telemetry))) * (1 - own))
        for _ in range(400)
    )
    return found[20], found[-21]


def line(row) -> str:
    """A row of the result as text."""
    truth = f"{row['truth']:6.1%} ({row['truth_low']:.1%} to {row['truth_high']:.1%})"
    return (
        f"{row['service']:14} {row['leg']:9} truth {truth}  profile {row['total']:6.1%}"
        f" ({row['low']:.1%} to {row['high']:.1%})  direct {row['direct']:6.1%}"
        f"  off by {row['total'] - row['truth']:+6.1%}  costs {row['own']:.1%}"
    )


def write_left(cpu_of) -> None:
    """Write down what is left of the cost of OpenTelemetry's code, from the services that ran in all ways.

    Args:
        cpu_of: Service -> leg -> CPU time of a request without what the profile took.
    """
    left = {
        name: {
            core: (legs[leg] - legs["bare"]) / (legs["stock"] - legs["bare"]) for leg, (_, core) in LEGS.items() if core
        }
        for name, legs in cpu_of.items()
        if legs.keys() >= LEGS.keys()
    }
    document = json.loads(package_parts.LEFT.read_text(encoding="utf-8"))
    # Nearly all of the founding case's cost is in them.
    founding = left.pop("founding", None)
    if founding:
        document["left"]["version look-ups"] = {core: round(value, 3) for core, value in founding.items()}
    if left:
        document["left"]["services"] = {
            core: round(statistics.mean(each[core] for each in left.values()), 3) for core in ("c", "py")
        }
        document["measured"] = sorted(left)
    package_parts.LEFT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main(given=None) -> int:
    """Print a table; return 0 if every profile is within its points of the truth, otherwise 1."""
    options = arguments(given)
    rows = []
    cpu_of = {}
    for name in options.service or sorted(SERVICES):
        out = options.out / f"{name}-{time.time():.0f}"
        with interrupts() as signals, running(out / "logs", signals) as processes:
            profiled, legs, cpu = SERVICES[name](options, processes, out)
            for each in profiled.values():
                each.finish()
            time.sleep(5)
            for leg in legs:
                leg.child.stop()
        (out / "cpu.json").write_text(json.dumps(cpu), encoding="utf-8")
        bare = statistics.median(cpu["bare"])
        cpu_of[name] = {"bare": bare}
        for leg, each in profiled.items():
            report, own = each.report()
            (out / f"{leg}.json").write_text(report.as_json(), encoding="utf-8")
            cpu_of[name][leg] = statistics.median(cpu[leg]) * (1 - own)
            truth = 1 - bare / cpu_of[name][leg]
            low, high = interval(cpu["bare"], cpu[leg], own)
            found = {"service": name, "leg": leg, "truth": truth, "truth_low": low, "truth_high": high}
            rows.append({**found, **vars(report.share), "own": own, "samples": report.samples})
            sys.stdout.write(f"{line(rows[-1])}  {report.headline}\n")
            sys.stdout.flush()
    if options.write:
        write_left(cpu_of)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "result.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(abs(row["total"] - row["truth"]) > most(row["service"]) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
