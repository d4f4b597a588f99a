"""`otel-fastpath budget check | calibrate | compare | explain | schema` and `otel-fastpath bench`: options and output.

Importing this module is cheap: a command's own modules are loaded when it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_fastpath.tools.budget.outputs import UsageError, add_outputs, one_of, write, write_text
from otel_fastpath.tools.common import exit_codes
from otel_fastpath.tools.common.arguments import add_progress, add_refused, count, pause
from otel_fastpath.tools.common.exit_codes import Exit

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from otel_fastpath.tools.budget.declare import Declaration
    from otel_fastpath.tools.budget.results import BudgetReport


def add_commands(commands: Any) -> None:
    """Add the sub-commands to argparse's `add_subparsers()`."""
    budget = commands.add_parser("budget", help="check the overhead of your telemetry against its budget")
    add_refused(budget, "budget")
    steps = budget.add_subparsers(required=True, metavar="COMMAND")
    check = _step(steps, "check", "measure, and check the declared limits", _check)
    _add_selection(check)
    check.add_argument("--base", metavar="BASE", help="check regressions too: a git ref, a folder or a wheel")
    _add_base_options(check)
    _add_verdict_options(check)
    compare = _step(steps, "compare", "compare this version with another one, in one process", _check)
    _add_selection(compare)
    compare.add_argument("--base", metavar="BASE", required=True, help="a git ref, a folder or a wheel")
    _add_base_options(compare)
    _add_verdict_options(compare)
    calibrate = _step(steps, "calibrate", 'record the values that limits like "+2%%" are relative to', _calibrate)
    _add_selection(calibrate)
    add_refused(calibrate, "budget calibrate")
    explain = _step(steps, "explain", "explain how verdicts are reached, or where the cost of a scenario is", _explain)
    explain.add_argument("scenario", nargs="?", help="name of a scenario")
    _add_file(explain)
    add_progress(explain, is_quick=True)
    add_refused(explain, "budget explain")
    schema = steps.add_parser(
        "schema",
        help="print a JSON schema of the TOML file, for editors",
        description="Print a JSON schema of the TOML file with the budgets, for editors that check and complete it.",
    )
    schema.add_argument(
        "--json", metavar="FILE", default="-", help="a file name, or - for standard output, the default"
    )
    add_progress(schema, is_quick=True)
    add_refused(schema, "budget schema")
    schema.set_defaults(run=_schema)
    bench = commands.add_parser(
        "bench",
        help="measure the hooks that are active in this environment: bare, stock and fastpath",
        description=(
            "Loads what opentelemetry-instrument would load here and times the operations it hooks: without telemetry, "
            "with stock OpenTelemetry, and with otel-fastpath, in processes that take turns. Nothing is sent anywhere."
        ),
        epilog=exit_codes.epilog("bench"),
    )
    from otel_fastpath.tools.bench.arguments import add_options  # noqa: PLC0415  # options only

    add_options(bench)
    add_outputs(bench)
    bench.set_defaults(run=_bench)


def _step(steps: Any, name: str, text: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = steps.add_parser(
        name, help=text, description=text.replace("%%", "%").capitalize() + ".", epilog=exit_codes.epilog("budget")
    )
    parser.set_defaults(run=run)
    return parser


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file", type=Path, help="TOML file with the budgets (default: the nearest pyproject.toml that has some)"
    )


def _add_selection(parser: argparse.ArgumentParser) -> None:
    _add_file(parser)
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="scenarios with this name; * and ? are wildcards"
    )
    parser.add_argument(
        "--metrics",
        metavar="LIST",
        help="comma-separated: bytecodes,calls,allocations,instructions,cache_lines,overhead",
    )
    parser.add_argument(
        "--processes", type=count, default=5, metavar="N", help="processes for an overhead (default %(default)s)"
    )
    parser.add_argument(
        "--cycles", type=count, default=300, metavar="N", help="blocks of each kind in a process (default %(default)s)"
    )
    add_progress(parser)


def _add_base_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--build", action="store_true", help="build a wheel of BASE first: for compiled modules")
    parser.add_argument(
        "--pairs", type=count, default=3, metavar="N", help="processes for a regression (default %(default)s)"
    )


def _add_verdict_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pause",
        type=pause,
        default=10.0,
        metavar="S",
        help="seconds before a breach is confirmed (default %(default)s)",
    )
    parser.add_argument("--strict", action="store_true", help="accept only limits that pass: see the exit status")
    parser.add_argument(
        "--profile", action="store_true", help="profile each scenario that fails, to say where its CPU time goes"
    )
    add_outputs(parser)
    add_refused(parser, "budget")


def declaration_of(options: argparse.Namespace) -> Declaration:
    """Read the declaration that the options name, or else the nearest one.

    Raises:
        UsageError: There is no declaration.
    """
    from otel_fastpath.tools.budget import declare  # noqa: PLC0415  # see the module's docstring

    file = options.file or declare.find(Path.cwd())
    if file is None:
        table = ".".join(declare.TABLE)
        raise UsageError(f"no pyproject.toml from {Path.cwd()} upwards has a table [{table}]; name a file with --file")
    return declare.read(file)


def run_guarded(run: Callable[[], int]) -> int:
    """Run a command; a mistake in its arguments or the declaration gives one line and status 2."""
    from otel_fastpath.status.exchange import complain  # noqa: PLC0415  # see the module's docstring
    from otel_fastpath.tools.budget import base, declare  # noqa: PLC0415  # likewise

    try:
        return run()
    except (UsageError, declare.DeclarationError, base.BaseError) as error:
        complain(error)
        return int(Exit.USAGE)


def _options(options: argparse.Namespace, **more: Any) -> Any:
    from otel_fastpath.tools.budget import blocks, checks, limits  # noqa: PLC0415  # see the module's docstring
    from otel_fastpath.tools.common.render import progress  # noqa: PLC0415  # likewise

    metrics = None
    if options.metrics is not None:
        metrics = frozenset(name.strip() for name in options.metrics.split(","))
        for name in sorted(metrics - set(limits.METRICS)):
            raise UsageError(f"--metrics {name}: expected some of {','.join(limits.METRICS)}")
    return checks.Options(
        metrics=metrics,
        only=tuple(options.only),
        processes=options.processes,
        plan=blocks.MeasurementPlan(cycles=options.cycles),
        progress=progress.bar(sys.stderr, wanted=not options.no_progress),
        **more,
    )


def _check_selection(options: argparse.Namespace, declaration: Declaration) -> None:
    from otel_fastpath.tools.budget import checks  # noqa: PLC0415  # see the module's docstring

    for pattern in options.only:
        if not checks.select(declaration, [pattern]):
            raise UsageError(
                f"--only {pattern}: expected one of {one_of(declaration.scenarios, pattern)}, or a pattern"
            )


def _check(options: argparse.Namespace) -> int:
    return run_guarded(lambda: _run_check(options))


def _run_check(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.budget import base, checks, profiles, results  # noqa: PLC0415  # see the module's docstring

    declaration = declaration_of(options)
    _check_selection(options, declaration)
    if options.base is None:
        report = checks.check(declaration, _options(options, pause=options.pause))
    else:
        with base.make_importable(declaration, options.base, build=options.build) as found:
            report = checks.check(declaration, _options(options, pause=options.pause, pairs=options.pairs, base=found))
    if options.profile:
        report.profiles = profiles.of_failed(declaration, report, _options(options).progress)
    write_report(options, report)
    _annotate(declaration, report)
    return int(results.exit_code((result.verdict for result in report.results), strict=options.strict))


def write_report(options: argparse.Namespace, report: BudgetReport) -> None:
    """Write a report to the terminal and to the requested files."""
    from otel_fastpath.tools.common.render import check_report as rendering  # noqa: PLC0415  # see the module's docstring

    write(options, rendering.document(report), report.as_json())


def _annotate(declaration: Declaration, report: BudgetReport) -> None:
    """In a GitHub workflow, point at each scenario that fails."""
    from otel_fastpath.tools.common.render import check_report, github  # noqa: PLC0415  # see the module's docstring

    if not github.is_workflow():
        return
    from otel_fastpath.tools.budget import declare  # noqa: PLC0415  # likewise

    for result, text in check_report.failures(report):
        line = declare.line_of(declaration, result.scenario)
        sys.stderr.write(github.error_line(declaration.file, line, "overhead budget", text) + "\n")


def _calibrate(options: argparse.Namespace) -> int:
    return run_guarded(lambda: _run_calibrate(options))


def _run_calibrate(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.budget import calibration, checks  # noqa: PLC0415  # see the module's docstring

    declaration = declaration_of(options)
    _check_selection(options, declaration)
    known = calibration.read(declaration.lock)
    asked = _options(options)
    _refuse_a_loss(declaration, known, asked)
    found, missing = checks.calibrate(declaration, asked)
    for line in missing:
        sys.stdout.write(f"not measured: {line}\n")
    if not any(found.scenarios.values()):
        sys.stdout.write("nothing was measured, so nothing is written\n")
        return int(Exit.NOT_MEASURED)
    sys.stdout.writelines(f"{line}\n" for line in calibration.changes(known, found))
    calibration.write(declaration.lock, calibration.merge(known, found))
    measured = sum(len(values) for values in found.scenarios.values())
    sys.stdout.write(
        f"{measured} values of {len(found.scenarios)} scenarios for Python {found.python}: {declaration.lock}\n"
    )
    return int(Exit.SUCCESS)


def _refuse_a_loss(declaration: Declaration, known: Any, asked: Any) -> None:
    """Raise a `UsageError` if values of other versions would be dropped that nobody measures again."""
    from otel_fastpath.tools.budget import calibration, checks  # noqa: PLC0415  # see the module's docstring

    measured = {scenario.name for scenario in checks.select(declaration, asked.only)}

    def is_left(name: str, metric: str) -> bool:
        is_measured = name in measured and (asked.metrics is None or metric in asked.metrics)
        return name in declaration.scenarios and not is_measured

    why, names = calibration.lost(known, calibration.here(declaration), is_left)
    if why:
        raise UsageError(
            f"{declaration.lock.name} was {why}: this would drop values of scenarios that are not measured "
            f"again, such as {names[0]}. Calibrate all scenarios, without --only and --metrics"
        )


def _explain(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.budget import explain  # noqa: PLC0415  # see the module's docstring

    if options.scenario is None:
        sys.stdout.write(explain.METHOD)
        return 0
    return run_guarded(lambda: _run_explain(options))


def _run_explain(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.budget import explain  # noqa: PLC0415  # see the module's docstring

    declaration = declaration_of(options)
    scenario = declaration.scenarios.get(options.scenario)
    if scenario is None:
        raise UsageError(f"{options.scenario}: expected one of {one_of(declaration.scenarios, options.scenario)}")
    sys.stdout.write(explain.scenario(declaration, scenario))
    return 0


def _schema(options: argparse.Namespace) -> int:
    import json  # noqa: PLC0415  # see the module's docstring

    from otel_fastpath.tools.budget import schema  # noqa: PLC0415  # likewise

    text = json.dumps(schema.schema(), indent=2) + "\n"
    return run_guarded(lambda: write_text("json", options.json, text))


def _bench(options: argparse.Namespace) -> int:
    from otel_fastpath.tools.bench import command  # noqa: PLC0415  # see the module's docstring

    return run_guarded(lambda: command.run(options))
