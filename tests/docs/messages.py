"""The messages of this package, read from its source: log records, what its commands say, reasons in the status."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import otel_fastpath

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(otel_fastpath.__file__).parent
# What stands for a part that is known at run time only.
GAP = "\u2026"
# Programs that are run by the commands, and the build.
_OTHER_PROGRAMS = re.compile(r"tools/prove/(?:libraries/|\w*programs?\.py)|tools/bench/\w+_probes|compiled/build_hook")
_LOGGER = re.compile(r"(?:logger|Quiet\(\w+\)|getLogger\(.*\)|\blog)$", re.IGNORECASE)
_LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
# Errors whose text is printed by a command or stands in the status.
_ERRORS = {
    *(
        "AllowError",
        "ApplicationError",
        "ArgumentTypeError",
        "BaseError",
        "LegError",
        "MissingToolError",
        "ObserverError",
    ),
    *("ProfileError", "ProgramError", "RemoteError", "ScenarioError", "UsageError", "WorkerError", "ProofError"),
    *("SkipError", "UnmetError", "ReplacedError", "UnknownError"),
}
_REASONS = re.compile(r"_?(?:reason|why|why_not|WHY\w*|FAULT|ERROR_OF_OTHERS)")
_GIVES_REASONS = re.compile(r"unmet|why|reason|remark|advice|failures|^off$|^_off$")
_REASONS_OF = (
    "patching/",
    "settings.py",
    "features.py",
    "instrumentor.py",
    "compiled/__init__.py",
    "exceptions/monitor.py",
    "wrapping/library.py",
    "otlp/exporters.py",
    "tools/profile/command.py",
)


def messages() -> dict[str, str]:
    """Each message, with gaps for what is known at run time only -> the file that has it."""
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not _OTHER_PROGRAMS.match(place):
            for text in _of_module(ast.parse(path.read_text(encoding="utf-8")), place):
                if re.sub(rf"[\W{GAP}]", "", text):
                    found.setdefault(text, place)
    return found


def _of_module(tree: ast.Module, place: str) -> Iterator[str]:
    named = _named(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in _ERRORS:
            made = (each for each in ast.walk(node) if isinstance(each, ast.Call))
            ours = [call.args[0] for call in made if ast.unparse(call.func) == "super().__init__" and call.args]
            yield from (text for argument in ours for text in _texts(argument, named))
        if isinstance(node, ast.Call):
            yield from (text for argument in _arguments(node) for text in _texts(argument, named))
        elif place.startswith(_REASONS_OF) and (values := _reasons(node)):
            yield from (text for value in values for text in _texts(value, named))


def _arguments(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that are messages."""
    name = ast.unparse(call.func)
    base, _, last = name.rpartition(".")
    arguments = call.args
    if _LOGGER.search(base) and last in _LEVELS:
        return arguments[:1]
    if _LOGGER.search(base) and last == "log":
        # A text that is made before is logged as it is.
        return arguments[2:3] if ast.unparse(arguments[1]) == "'%s'" else arguments[1:2]
    if name == "console.show":
        return arguments[2:3]
    if last in _ERRORS or last == "complain" or name in {"parser.error", "run.error"}:
        return arguments[:1]
    if name == "sys.stderr.write":
        return [each for each in arguments[:1] if "otel-fastpath: " in ast.unparse(each)]
    return [each.value for each in call.keywords if each.arg == "without"]


def _reasons(node: ast.AST) -> list[ast.expr]:
    """The texts that a statement makes reasons, or a function of such a name returns."""
    if isinstance(node, ast.FunctionDef) and _GIVES_REASONS.search(node.name):
        return [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value is not None]
    pairs: list[tuple[ast.expr, ast.expr]] = []
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        pairs.append((node.target, node.value))
    for target in node.targets if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs += zip(target.elts, node.value.elts, strict=False)
        else:
            pairs.append((target, node.value))
    return [value for target, value in pairs if _REASONS.fullmatch(ast.unparse(target).rpartition(".")[2])]


def _named(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """The texts that are assigned to each name of the module."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                found.setdefault(target.id, []).append(node.value)
    added = [node for node in ast.walk(tree) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)]
    for name in {node.target.id for node in added} & found.keys():
        # A text that others are added to is no message by itself.
        parts = [node.value for node in added if node.target.id == name]
        found[name] = [ast.BinOp(first, ast.Add(), part) for first in found[name] for part in parts]
    return found


def _texts(value: ast.expr, named: dict[str, list[ast.expr]], depth: int = 2) -> list[str]:
    if isinstance(value, ast.IfExp):
        return [*_texts(value.body, named, depth), *_texts(value.orelse, named, depth)]
    if isinstance(value, ast.Name) and depth:
        return [text for each in named.get(value.id, ()) for text in _texts(each, named, depth - 1)]
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        left, right = (_texts(each, named, depth) for each in (value.left, value.right))
        return [f"{first} {second}" for first in left for second in right]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [_plain(value.value)]
    if isinstance(value, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else GAP for each in value.values)
        return [_plain("".join(map(str, parts)))]
    return []


def _plain(text: str) -> str:
    text = re.sub(r"%(?:\.\d)?[srdfg]", GAP, text.removeprefix("otel-fastpath: ").strip()).replace("%%", "%")
    return re.sub(rf"{GAP}+", GAP, text)
