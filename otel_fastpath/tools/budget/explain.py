"""Explains how verdicts are reached, and where a scenario's cost is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget import calibration, growth
from otel_fastpath.tools.budget.judging import Judge
from otel_fastpath.tools.common.render.document import figure

if TYPE_CHECKING:
    from otel_fastpath.tools.budget.declare import Declaration, Scenario

METHOD: Final = """\
Overhead is the additional cost of an instrumented call over the bare one. Every limit gets its own verdict:

  pass          measured, and within the limit
  fail          measured, and above it; a timed limit fails only if more processes confirm it
  inconclusive  measured, but the noise or the state of this machine hides the answer
  not measured  a tool, a base or a calibrated value is missing; the note says which

Exact counts: per call, instrumented minus bare, the same on every machine for one Python version and one lock file.
On another bug-fix release of Python a breach is inconclusive: the standard library may have changed.
  bytecodes     executed by the interpreter (sys.monitoring; sys.settrace before 3.12). Blind to work inside C.
  calls         Python functions entered, generators and coroutines resumed. Blind to loops, and to work inside C.
  allocations   requested from Python's allocators. Blind to computation. Needs a C compiler.
  instructions  of the processor, counted by valgrind's callgrind. Includes C and Python, is blind to the cost of
                waiting: system calls and cache misses. Valid for one build of the interpreter, one compiler and one
                valgrind, on any processor. The memory layout changes them by 1 % and more: a count above its limit
                is repeated five times, and the median decides; it is inconclusive if the excess is within 0.25 % of
                all instructions counted.
  cache_lines   of 64 bytes with code that the instrumented call executes and the bare one does not, at each second
                call or more often; from the same profiles. In a service, code that runs once a request costs by these.
                Blind to data, and so to the bytecode of Python functions.
  No count includes everything, but none gives false alarms: counts gate, times confirm.

Times: never compared across runs or machines.
  regression    base and head loaded in one process, 200 us blocks of both in random order, the median of the ratio
                of each pair, in 3 fresh processes. A limit of 3 % detects a slowdown of 5 %.
  overhead      bare, instrumented and a frozen reference workload interleaved in the same way, in 5 fresh processes.
                "0.35 ref" counts in reference workloads, "12% of bare" in bare calls, "+20%" from the value that
                `calibrate` recorded. Headroom below 20 % cannot be checked on a shared machine. "6 us" only informs.
  A breach is confirmed by as many processes again, some seconds later; if the result is still open, by at most two
  more batches. The limit fails if the interval over all of them lies above it; if the interval is wider than the
  limit's headroom, the verdict is inconclusive.

Exit status: 0 held, 1 exceeded, 2 usage, 3 inconclusive (with --strict), 4 nothing measured (with --strict: or
something declared was not).
"""
_MOST_FUNCTIONS: Final = 25


def scenario(declaration: Declaration, scenario: Scenario) -> str:
    """Describe a scenario: what is measured, the values of its limits here, and the functions with the bytecodes."""
    here = calibration.here(declaration)
    judge = Judge(here, calibration.matching(calibration.read(declaration.lock), here))
    lines = [
        f"{scenario.name}: {declaration.file}, {scenario.key}",
        f"  bare          {scenario.bare}",
        f"  instrumented  {scenario.instrumented}",
        f"  setup         {scenario.setup or '-'}",
        f"  calibrated    {declaration.lock}",
        "",
        "limits here:",
    ]
    for limit in scenario.limits:
        most, calibrated, reason = judge.most(scenario.name, limit)
        text = reason or f"at most {figure(most or 0.0)}"
        if calibrated is not None and limit.metric != "regression":
            text += f" (calibrated: {figure(calibrated)})"
        lines.append(f"  {limit.metric:13} {limit.text:16} {text}")
    return "\n".join([*lines, "", *_functions(declaration, scenario)]) + "\n"


def _functions(declaration: Declaration, scenario: Scenario) -> list[str]:
    try:
        functions = growth.count(declaration, scenario)
    except growth.NotCountedError as error:
        return [f"where the cost is: not measured: {error}"]
    lines = ["bytecodes and calls per call of the scenario, instrumented minus bare, by function:"]
    lines += [
        f"  {figure(each['bytecodes']):>9} {figure(each['calls']):>7}  {each['name']}  ({each['place']})"
        for each in functions[:_MOST_FUNCTIONS]
    ]
    rest = functions[_MOST_FUNCTIONS:]
    if rest:
        lines.append(f"  {figure(sum(each['bytecodes'] for each in rest)):>9}          in {len(rest)} more functions")
    return [*lines, "Work inside C (compiled modules, system calls) is not in this table: see instructions."]
