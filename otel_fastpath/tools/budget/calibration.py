"""The calibrated values: `overhead-lock.toml`, written by `otel-fastpath budget calibrate` and committed.

The file has one table for each Python version. Counts are valid for the installed versions, instructions also for one
build of the interpreter and the tools only, and all values only for the version of the harness that measured them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget import environment
from otel_fastpath.tools.budget.declare import Declaration, DeclarationError, load_toml, quoted
from otel_fastpath.tools.budget.limits import OF_BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_HEADER: Final = "# Written by `otel-fastpath budget calibrate`: run that instead of editing this.\n"
_KEYS: Final = ("python", "release", "implementation", "harness", "reference", "interpreter", "tools", "cpu")


@dataclass
class Calibration:
    """The calibrated values for one Python version.

    Attributes:
        python: The minor version, such as "3.13".
        release: The full version, such as "3.13.1".
        implementation: The name of the implementation, such as "cpython".
        harness: The version of the measuring method.
        reference: The unit of the overheads.
        interpreter: The build of the interpreter that instructions were counted with.
        tools: The compiler of the extensions, and the tool that counted their instructions.
        cpu: The processor that times were measured on, for information.
        distributions: The installed versions.
        scenarios: Name -> metric -> value.
        functions: Name -> function -> bytecodes, of the functions with the most.
    """

    python: str
    release: str
    implementation: str
    harness: int
    reference: str
    interpreter: str
    tools: str
    cpu: str
    distributions: dict[str, str] = field(default_factory=dict)
    scenarios: dict[str, dict[str, float]] = field(default_factory=dict)
    functions: dict[str, dict[str, float]] = field(default_factory=dict)

    def value(self, scenario: str, metric: str) -> float | None:
        """Return a calibrated value, or None if there is none."""
        return self.scenarios.get(scenario, {}).get(metric)

    def unfit(self, here: Calibration, metric: str) -> str:
        """Why a calibrated value of this metric is not valid here; empty if it is valid."""
        if self.harness != here.harness:
            return f"calibrated by harness {self.harness}, this is {here.harness}"
        # The control was measured beside it.
        if metric in {"overhead", "control"}:
            return "" if self.reference == here.reference else f"calibrated in {self.reference}, not {here.reference}"
        names = {**self.distributions, **here.distributions}
        for name in names:
            was, now = self.distributions.get(name, "none"), here.distributions.get(name, "none")
            if was != now:
                return f"calibrated with {name} {was}, here is {now}"
        for was, now in ((self.interpreter, here.interpreter), (self.tools, here.tools)):
            if metric in OF_BUILD and was != now:
                return f"calibrated on {was}; this is {now}"
        return ""

    def doubt(self, here: Calibration) -> str:
        """Why a count above its limit may have another cause than the measured code; empty if none is known."""
        if self.release == here.release:
            return ""
        return f"calibrated on Python {self.release}, this is {here.release}: the standard library may have changed"


def here(declaration: Declaration) -> Calibration:
    """An empty calibration of this environment."""
    facts = environment.facts(declaration.distributions)
    return Calibration(
        python=environment.python(),
        release=facts["python"],
        implementation=facts["implementation"],
        harness=environment.HARNESS,
        reference=declaration.reference,
        interpreter=facts["interpreter"],
        tools=facts["tools"],
        cpu=facts["cpu"],
        distributions=facts["distributions"],
    )


def read(file: Path) -> list[Calibration]:
    """All calibrations of a lock file; none if there is no file.

    Raises:
        DeclarationError: It is not a valid lock file.
    """
    if not file.exists():
        return []
    try:
        return [
            Calibration(
                **{key: table[key] for key in _KEYS},
                distributions=dict(table["distributions"]),
                scenarios={name: dict(values) for name, values in table.get("scenarios", {}).items()},
                functions={name: dict(values) for name, values in table.get("functions", {}).items()},
            )
            for table in load_toml(file)["environment"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DeclarationError(
            file, "environment", f"{type(error).__name__}: {error}", "what `otel-fastpath budget calibrate` writes"
        ) from None


def matching(known: list[Calibration], this: Calibration) -> Calibration | None:
    """The calibration for the same Python version, if there is one."""
    for each in known:
        if (each.python, each.implementation) == (this.python, this.implementation):
            return each
    return None


def merge(known: list[Calibration], new: Calibration) -> list[Calibration]:
    """Add or replace a calibration; scenarios that were not measured keep their values as long as these are valid."""
    old = matching(known, new)
    if old is not None:
        for name, values in old.scenarios.items():
            kept = {metric: value for metric, value in values.items() if not old.unfit(new, metric)}
            if kept or name in new.scenarios:
                new.scenarios[name] = {**kept, **new.scenarios.get(name, {})}
        if not old.unfit(new, "bytecodes"):
            new.functions = {**old.functions, **new.functions}
    rest = [each for each in known if each is not old]
    return sorted([*rest, new], key=lambda each: [int(part) for part in each.python.split(".")], reverse=True)


def lost(known: list[Calibration], new: Calibration, is_left: Callable[[str, str], bool]) -> tuple[str, list[str]]:
    """What `merged` would drop because it was calibrated with other versions, and nobody measures it again.

    Args:
        known: The calibrations so far.
        new: The one to be made.
        is_left: Whether the value of a scenario and a metric is still wanted, and not to be measured.

    Returns:
        Why, and the scenarios; nothing if nothing is dropped.
    """
    old = matching(known, new)
    why = "" if old is None else old.unfit(new, "bytecodes")
    if old is None or not why:
        return "", []
    found = [
        name
        for name, values in old.scenarios.items()
        if any(is_left(name, metric) and old.unfit(new, metric) for metric in values)
    ]
    return (why, found) if found else ("", [])


def changes(known: list[Calibration], new: Calibration) -> list[str]:
    """One line for each new or changed value, and the number of the others."""
    old = matching(known, new)
    lines, same = [], 0
    for name, values in new.scenarios.items():
        for metric, value in values.items():
            was, now = None if old is None else old.value(name, metric), _short(value)
            if was is not None and _short(was) == now:
                same += 1
            else:
                lines.append(f"{name}: {metric} {now} ({'new' if was is None else f'was {_short(was)}'})")
    return [*lines, f"{same} values are as they were"] if same else lines


def write(file: Path, calibrations: list[Calibration]) -> None:
    """Write a lock file; the same values give the same bytes."""
    lines = [_HEADER]
    for each in calibrations:
        lines.append("[[environment]]")
        lines += [f"{key} = {json.dumps(getattr(each, key))}" for key in _KEYS]
        lines += ["", "[environment.distributions]", *_pairs(each.distributions)]
        for name in sorted(name for name, values in each.scenarios.items() if values):
            lines += ["", f"[environment.scenarios.{quoted(name)}]", *_pairs(each.scenarios[name])]
        for name in sorted(each.functions):
            lines += ["", f"[environment.functions.{quoted(name)}]", *_pairs(each.functions[name])]
        lines.append("")
    file.write_text("\n".join(lines), encoding="utf-8")


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{quoted(key)} = {_short(values[key])}" for key in sorted(values)]


def _short(value: Any) -> str:
    if not isinstance(value, float):
        return json.dumps(value)
    rounded = round(value, 1) if abs(value) >= 1000 else float(f"{value:.6g}")  # noqa: PLR2004  # one decimal is enough from a thousand upwards
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)
