"""One way to guard what a wrapper does: `patching.outcome`, and the calls of the hot modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from otel_fastpath import compiled

ROOT = Path(compiled.__file__).parents[1]
# Not around telemetry: what a subclass of the user's does, what a server's text is not, a value that has no text, and
# content that cannot be formatted, which the export thread logs.
ALLOWED = {
    ("db/asyncpg/query_plans.py", "_reset_query"),
    *(("db/conventions.py", name) for name in ("parameters", "shorten")),
    *(("db/queries/parameters.py", name) for name in ("has_any", "text_of")),
    ("genai/openai/content.py", "_has_any"),
    ("genai/openai/reading/parts.py", "_decode"),
}
# What these prepare or conclude falls back to stock's own code, which the skeleton of calls does not know.
ALLOWED |= {
    ("db/redis/hooks.py", "_enter_pipeline"),
    ("wrapping/closures.py", "_hand_over"),
    *(("http/fastapi/stock_middleware.py", name) for name in ("_legacy_otel", "bind_legacy_otel")),
    *(("http/httpx/hooks.py", name) for name in ("_bound_to", "_of_transport", "_rebind")),
}
# The one way itself, and what decides whether a wrapper is on.
GUARDS = {"failure.py", "library.py"}
HOT = {f"otel_fastpath/{twin.removesuffix('_c').replace('.', '/')}.py" for twin in compiled.TWINS}
FILES = sorted(
    path
    for folder in ("db", "genai", "http", "wrapping")
    for path in (ROOT / folder).rglob("*.py")
    if path.name not in GUARDS and path.relative_to(ROOT.parent).as_posix() not in HOT
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_wrapper_guards_by_itself(path):
    """An `except` for whatever may be raised is there only to tell of what the host raised, and raises it again."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for handler in ast.walk(function):
            if not isinstance(handler, ast.ExceptHandler):
                continue
            name = handler.type.id if isinstance(handler.type, ast.Name) else None
            text = ast.unparse(handler)
            is_wide = handler.type is None or name in {"Exception", "BaseException"}
            if is_wide and not text.rstrip().endswith("raise") and "absorb_during(" not in text:
                found.append((path.relative_to(ROOT).as_posix(), function.name))
    assert set(found) <= ALLOWED
