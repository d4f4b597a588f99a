"""Writes the names of the hot modules in otel_fastpath/compiled/hot.py, from the files that give them C types."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1] / "otel_fastpath"
SOURCE: Final = PACKAGE / "compiled" / "hot.py"
# The C forms of these are inlined: they are no modules in a compiled core.
INLINED: Final = frozenset(
    f"compiled.{name}"
    for name in ("baggage_header", "exponential_buckets", "helpers", "sharing", "taking_points", "traceparent")
)
_TWINS: Final = ("# Twins made from the tree:\n", "# End of the twins.\n")
_NAMES: Final = ("    # Names made from the tree:\n", "    # End of the names.\n")


def source(text: str) -> str:
    """The text of hot.py with its names made again."""
    names = modules()
    twins = "".join(f'    "{name}_c",\n' for name in names)
    text = _replaced(text, _TWINS, f"TWINS: Final = (\n{twins})\n")
    return _replaced(text, _NAMES, "".join(map(_import, names)))


def modules() -> list[str]:
    """The hot modules, as dotted names below the package."""
    files = [*PACKAGE.rglob("*_c.pxd"), *PACKAGE.rglob("*_c.pyx")]
    names = {".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("_c") for path in files}
    # As a formatter sorts imports.
    return sorted(names - INLINED, key=lambda name: name.rpartition(".")[::2])


def _replaced(text: str, marks: tuple[str, str], made: str) -> str:
    before, _, rest = text.partition(marks[0])
    return f"{before}{marks[0]}{made}{marks[1]}{rest.partition(marks[1])[2]}"


def _import(name: str) -> str:
    folder, _, module = name.rpartition(".")
    return f"    from otel_fastpath.{folder} import {module} as {name.replace('.', '_')}\n"
