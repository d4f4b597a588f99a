"""Where code is in this process's memory: of the compiled modules, of the interpreter's loop; and where a stack ends.

Python finds this, because a compiled module that calls these functions of the C library needs one of 2021 or later.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAPS: Final = Path("/proc/self/maps")
_PACKAGE: Final = Path(__file__).resolve().parents[2]
# The address, the permissions, and further fields before the file.
_FIELDS: Final = 6
_LOOP: Final = "_PyEval_EvalFrameDefault"
# For dladdr1 of <dlfcn.h>: the answer is a symbol of the file, as in <elf.h>.
_RTLD_DL_SYMENT: Final = 1
_64_BIT: Final = 8


class Range(NamedTuple):
    """A range of addresses, without its end."""

    begin: int
    end: int


class _Place(ctypes.Structure):
    """`Dl_info` of <dlfcn.h>."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _Symbol(ctypes.Structure):
    """`Elf64_Sym` of <elf.h>."""

    _fields_ = (
        ("name", ctypes.c_uint32),
        ("info", ctypes.c_uint8),
        ("other", ctypes.c_uint8),
        ("section", ctypes.c_uint16),
        ("value", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
    )


def compiled_modules() -> Iterator[tuple[str, Range]]:
    """The names of our compiled modules that are loaded, and where their code is; none if that is unknown."""
    for range_, permissions, file in _mappings():
        path = Path(file)
        # Not the profile's own: it takes the sample.
        if "x" in permissions and path.suffix == ".so" and _is_measured(path):
            name = path.with_name(path.name.partition(".")[0]).relative_to(_PACKAGE.parent)
            yield ".".join(name.parts).removesuffix("_c"), range_


def _is_measured(path: Path) -> bool:
    return path.is_relative_to(_PACKAGE) and not path.is_relative_to(Path(__file__).resolve().parent)


def interpreters_loop() -> Range | None:
    """The code of the function that runs Python's instructions; None if this build of Python does not export it."""
    dladdr1 = getattr(ctypes.CDLL(None), "dladdr1", None)
    loop = getattr(ctypes.pythonapi, _LOOP, None)
    if dladdr1 is None or loop is None or ctypes.sizeof(ctypes.c_void_p) != _64_BIT:
        return None
    place, symbol = _Place(), ctypes.POINTER(_Symbol)()
    begin = ctypes.cast(loop, ctypes.c_void_p).value
    is_found = dladdr1(ctypes.c_void_p(begin), ctypes.byref(place), ctypes.byref(symbol), _RTLD_DL_SYMENT)
    if begin is None or not is_found or not symbol or not symbol.contents.size:
        return None
    return Range(begin, begin + int(symbol.contents.size))


def mapping_of(address: int) -> Range | None:
    """The mapped memory that this address is in, such as a thread's stack; None if that is unknown."""
    return next((found for found, _, _ in _mappings() if found.begin <= address < found.end), None)


def _mappings() -> Iterator[tuple[Range, str, str]]:
    """The addresses, the permissions and the file of each part of the memory."""
    if not _MAPS.exists():
        return
    for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        fields: list[Any] = line.split(maxsplit=_FIELDS - 1)
        begin, _, end = fields[0].partition("-")
        yield Range(int(begin, 16), int(end, 16)), fields[1], fields[5] if len(fields) == _FIELDS else ""
