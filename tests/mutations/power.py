"""What `otel-fastpath prove` sees: of changes that are seen, how many it refuses, and of others, how many it accepts.

    make mutations ARGS="--power 200"

Functions that patches rest on are drawn by a seed, and changed in their source: what they return, an attribute that
they set on the current span, a condition, a constant, a statement less; or in a way that nobody can see: a variable
more, or one with another name.
"""

from __future__ import annotations

import ast
import gc
import json
import random
import sys
from collections import Counter
from pathlib import Path

from functions import Function, function_in
from mutating import COUNTS, Returns, note_users, put_source, source_of
from processes import LONG_S, in_child
from readme import insert

from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching.patch import State, installations
from otel_fastpath.patching.sources import proven
from otel_fastpath.patching.sources.guard import SkipError, function_of, owner_of, resolve
from otel_fastpath.tools.prove.catalogue import programs
from otel_fastpath.tools.prove.cli import USUAL
from otel_fastpath.tools.prove.new_statements import known_statements, unshown_lines
from otel_fastpath.tools.prove.observer import Trial
from otel_fastpath.tools.prove.program import observe
from otel_fastpath.tools.prove.reach import Reach

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "build/mutations"
PAGE = ROOT / "docs/prove.md"
# How many programs of each library, of those that the command runs, are run for each change at least.
_FEW = 4
_SET = "__import__('opentelemetry.trace').trace.get_current_span().set_attribute('mutated', 'yes')"
# So many programs are run at first, since they show most differences, and then the others.
_BATCH = 24
BREAKS = "breaks stock"
NO_CHANGE = "no change"


class NotPossibleError(Exception):
    """The function cannot be changed in this way."""


def _segment(lines, node):
    """The text of a node."""
    return ast.get_source_segment("".join(lines), node)


def _replace(lines, node, text):
    """Put a text in the place of a node; the lines stay the same."""
    first, last = node.lineno - 1, node.end_lineno - 1
    start, end = lines[first].encode()[: node.col_offset].decode(), lines[last].encode()[node.end_col_offset :].decode()
    for number in range(first, last):
        lines[number] = "\n"
    lines[last] = end
    lines[first] = f"{start}{text}{end if first == last else chr(10)}"


def _inner(node, kinds):
    """The nodes of these kinds in the body of a function, and not in the functions inside of it."""
    found, waiting = [], list(node.body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, kinds):
            found.append(each)
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(each)
    return sorted(found, key=lambda each: (each.lineno, each.col_offset))


def _choose(draw, found):
    if not found:
        raise NotPossibleError
    return draw.choice(found)


def _other_result(lines, node, draw):
    visitor = Returns()
    for each in node.body:
        visitor.visit(each)
    value = _choose(
        draw, [each for each in visitor.found if not isinstance(each, ast.Constant) or each.value is not None]
    )
    _replace(lines, value, f"__import__('mutating').changed_counted(({_segment(lines, value)}))")


def _first_statement(node):
    body = node.body
    is_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1 if is_docstring and len(body) > 1 else 0]


def _before(lines, statement, text):
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        raise NotPossibleError
    start = lines[statement.lineno - 1]
    indent = start[: len(start) - len(start.lstrip())]
    if start[: statement.col_offset].strip() or isinstance(
        statement, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)
    ):
        # A compound statement has to stand at the beginning of its line.
        raise NotPossibleError
    lines[statement.lineno - 1] = f"{indent}{text}; {start[len(indent) :]}"


def _attribute_set(lines, node, _draw):
    _before(lines, _first_statement(node), _SET)


def _other_condition(lines, node, draw):
    statement = _choose(draw, _inner(node, (ast.If, ast.IfExp)))
    _replace(lines, statement.test, f"not ({_segment(lines, statement.test)})")


def _other_constant(lines, node, draw):
    found = [each for each in _inner(node, ast.Constant) if type(each.value) in (int, str)]
    statements = [each.value for each in _inner(node, ast.Expr)]
    in_strings = {part for each in _inner(node, ast.JoinedStr) for part in ast.walk(each)}
    value = _choose(draw, [each for each in found if each not in statements and each not in in_strings])
    _replace(lines, value, repr(value.value + (1 if type(value.value) is int else "~")))


def _statement_less(lines, node, draw):
    statement = _choose(draw, [each for each in _inner(node, ast.Expr) if isinstance(each.value, ast.Call)])
    _replace(lines, statement, "pass")


def _variable_more(lines, node, draw):
    del draw
    _before(lines, _first_statement(node), "_spare = None")


def _variable_in_between(lines, node, draw):
    simple = _inner(node, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign))
    statement = _choose(draw, simple)
    _before(lines, statement, "_spare = 1")


def _result_in_variable(lines, node, draw):
    returns = [each for each in _inner(node, ast.Return) if each.value is not None]
    statement = _choose(draw, returns)
    _replace(lines, statement, f"_spare = ({_segment(lines, statement.value)}); return _spare")


def _other_name(lines, node, draw):
    if any(isinstance(each, (ast.Global, ast.Nonlocal)) for each in ast.walk(node)):
        raise NotPossibleError
    inner = [
        name.id
        for each in ast.walk(node)
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and each is not node
        for name in ast.walk(each)
        if isinstance(name, ast.Name)
    ]
    names = sorted(
        {each.id for each in _inner(node, ast.Name) if isinstance(each.ctx, ast.Store) and each.id not in inner}
    )
    arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
    handlers = {each.name for each in _inner(node, ast.ExceptHandler)}
    name = _choose(draw, [each for each in names if each not in arguments | handlers])
    in_strings = {part for each in _inner(node, ast.JoinedStr) for part in ast.walk(each)}
    uses = [each for each in _inner(node, ast.Name) if each.id == name]
    if any(each in in_strings for each in uses):
        raise NotPossibleError
    for each in reversed(uses):
        _replace(lines, each, f"{name}_renamed")


KINDS_OF = {
    "seen": (_other_result, _attribute_set, _other_condition, _other_constant, _statement_less),
    "unseen": (_variable_more, _variable_in_between, _result_in_variable, _other_name),
}


class Power:
    """All programs, and the functions that patches rest on.

    Args:
        core: The core.
        is_thorough: Whether all programs are run for a change that few of them do not show.
    """

    def __init__(self, core, *, is_thorough):
        self._core = core
        self._is_thorough = is_thorough
        self._programs = {each.name: each for each in programs(USUAL)}
        self._few = {each.name for each in programs(_FEW)}
        for program in self._programs.values():
            observe(program)
        places = in_child(self._places, LONG_S)
        self.functions = [found for place in places if (found := _function(place)) is not None]
        reach = Reach({each.place: [each.code] for each in self.functions})
        for name, program in self._programs.items():
            reach.during(name, lambda program=program: observe(program))
        for each in self.functions:
            each.programs = [name for name in self._programs if name in reach.programs[each.place]]
        self._known = known_statements()
        note_users()
        gc.collect()
        gc.freeze()
        self._before = {name: in_child(lambda each=each: observe(each)) for name, each in self._programs.items()}

    def _instrument(self, judge):
        proven.use(judge)
        FastpathInstrumentor().instrument(core=self._core, exceptions="off")

    def _places(self):
        self._instrument(proven.NOTHING)
        for program in list(self._programs.values())[::_FEW]:
            observe(program)
        rows = [each for each in installations() if each.state is State.APPLIED]
        return sorted({place for each in rows for place in each.places()})

    def draw(self, kinds, seed):
        """Changes without end: a function, a kind of change, and the lines of its changed file."""
        draw = random.Random(seed)  # noqa: S311  # it is to repeat, not to be unguessable
        while True:
            function, kind = draw.choice(self.functions), draw.choice(kinds)
            lines, node = source_of(function)
            before = list(lines)
            try:
                kind(lines, node, draw)
                ast.parse("".join(lines))
            except (NotPossibleError, SyntaxError):
                continue
            if lines != before:
                yield function, kind, lines

    def judge(self, function, kind, lines):
        """What becomes of a change: whether it is refused, and why.

        "followed": the telemetry changes, and with this package it changes in the same way; "unseen": it does not.
        """
        if not function.programs:
            return "refused: not executed"
        missed = in_child(lambda: self._missed(function, lines))
        if missed:
            return f"refused: lines {missed} are not executed"
        # A returned value may be of a kind that is left as it is.
        return BREAKS if missed is None else self._compare(function, lines, is_done=kind is not _other_result)

    def _compare(self, function, lines, *, is_done):
        is_seen = False
        for batch in self._batches(function):
            stock = in_child(lambda batch=batch: self._seen(function, lines, batch, None), LONG_S)
            fastpath = in_child(lambda batch=batch: self._seen(function, lines, batch, Trial(None)), LONG_S)
            if stock is None:
                return BREAKS
            if fastpath is None or fastpath[0] != stock[0]:
                return "refused"
            is_seen = is_seen or stock[0] != [self._before[name] for name in batch]
            is_done = is_done or stock[1] > 0
            if is_done and is_seen:
                return "followed"
        if not is_done:
            return NO_CHANGE
        return "unseen"

    def _batches(self, function):
        """The programs that execute a function, in batches: the first show most differences."""
        names = random.Random(function.place).sample(function.programs, len(function.programs))  # noqa: S311  # see draw
        few = [name for name in names if name in self._few]
        rest = [name for name in names if name not in self._few] if self._is_thorough else []
        return [batch for batch in (few[:_BATCH], few[_BATCH:], rest) if batch]

    def _missed(self, function, lines):
        put_source(function, lines)
        changed = function_of(resolve(function.place))
        known = self._known.get(function.place, "")
        reach = Reach({function.place: [changed.__code__]})
        for name in function.programs:
            if not unshown_lines(changed, known, set(reach.missed(function.programs)[function.place])):
                break
            reach.during(name, lambda name=name: observe(self._programs[name]))
        return unshown_lines(changed, known, set(reach.missed(function.programs)[function.place]))

    def _seen(self, function, lines, names, judge):
        put_source(function, lines)
        if judge is not None:
            self._instrument(judge)
        return [observe(self._programs[name]) for name in names], COUNTS[True]


def _function(place):
    try:
        function = function_of(resolve(place))
        owner, name = owner_of(sys.modules[place.partition(":")[0]], place)
    except (SkipError, KeyError):
        return None
    code = getattr(function, "__code__", None)
    is_own = code is not None and function.__module__ == place.partition(":")[0]
    return Function(place, code) if is_own and function_in(vars(owner).get(name)) is function else None


def _file(name, core):
    return OUTPUT / f"power-{name}-{core}.jsonl"


def measure(name, number, seed, core):
    """Judge so many changes of the kinds of this name; their outcomes are in a file."""
    power = Power(core, is_thorough=name == "seen")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    done = 0
    with _file(name, core).open("w", encoding="utf-8") as output:
        for function, kind, lines in power.draw(KINDS_OF[name], seed):
            outcome = power.judge(function, kind, lines)
            if outcome in {BREAKS, NO_CHANGE}:
                continue
            changed = [text for text, old in zip(lines, source_of(function)[0], strict=True) if text != old]
            output.write(json.dumps([function.place, kind.__name__.strip("_"), outcome, changed]) + "\n")
            output.flush()
            done += 1
            if done == number:
                break


def table(core):
    """What became of the changes, as a table for docs/prove.md."""
    rows = ["| changes | refused | followed | unseen |", "| --- | ---: | ---: | ---: |"]
    for name in KINDS_OF:
        lines = _file(name, core).read_text(encoding="utf-8").splitlines()
        counts = Counter(json.loads(line)[2].partition(":")[0] for line in lines)
        cells = " | ".join(str(counts[each]) for each in ("refused", "followed", "unseen"))
        rows.append(f"| {len(lines)} that {'can' if name == 'seen' else 'cannot'} be seen | {cells} |")
    return "\n".join(rows)


def write_page(core):
    """Put the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(insert(page, "power", table(core)), encoding="utf-8")
