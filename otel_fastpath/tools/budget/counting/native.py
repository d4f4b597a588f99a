"""Exact counts below Python: allocations, and what valgrind's callgrind counts, with two small C shims.

Both need a C compiler; callgrind also needs valgrind with its headers. If a tool is missing, the count is reported
as not measured, with the reason.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from otel_fastpath.tools.budget.counting.bytecodes import CALLS, quiet
from otel_fastpath.tools.budget.limits import CACHE_LINES, INSTRUCTIONS, OF_BUILD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from otel_fastpath.tools.budget.counting.callables import Arm, Running

    _Read = TypeVar("_Read")

ALLOCATIONS: Final = "allocations"

# The shim wraps the allocators of all three domains and increments a counter of the calling thread. It declares
# Python's structure and functions itself, so it needs no headers; the running interpreter has the symbols.
_COUNT_ALLOCATIONS: Final = r"""
#include <stddef.h>
typedef struct {
    void *ctx;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
} Allocator;
extern void PyMem_GetAllocator(int, Allocator *);
extern void PyMem_SetAllocator(int, Allocator *);
static Allocator before[3];
static __thread int counting;
static __thread long long allocations;
/* A large object is passed on from one domain to the next: that is one allocation. */
#define COUNTED(call) \
    Allocator *own = of; int was = counting; void *made; \
    allocations += was; counting = 0; made = call; counting = was; return made
static void *count_malloc(void *of, size_t size) { COUNTED(own->malloc(own->ctx, size)); }
static void *count_calloc(void *of, size_t number, size_t size) { COUNTED(own->calloc(own->ctx, number, size)); }
static void *count_realloc(void *of, void *block, size_t size) { COUNTED(own->realloc(own->ctx, block, size)); }
static void count_free(void *of, void *block) { Allocator *own = of; own->free(own->ctx, block); }
void begin(void) {
    for (int domain = 0; domain < 3; domain++) {
        Allocator ours = {&before[domain], count_malloc, count_calloc, count_realloc, count_free};
        PyMem_GetAllocator(domain, &before[domain]);
        PyMem_SetAllocator(domain, &ours);
    }
    allocations = 0;
    counting = 1;
}
long long end(void) {
    counting = 0;
    for (int domain = 0; domain < 3; domain++) PyMem_SetAllocator(domain, &before[domain]);
    return allocations;
}
"""
_PROFILE: Final = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
_SOURCES: Final = {ALLOCATIONS: _COUNT_ALLOCATIONS, **dict.fromkeys(OF_BUILD, _PROFILE)}
KINDS: Final = tuple(_SOURCES)
_LABEL: Final = re.compile(r"^desc: Trigger: Client Request: (bare|instrumented) (.*)$", re.MULTILINE)
# The calls are made on the first thread of the process.
_FIRST: Final = re.compile(r"^thread: 1$", re.MULTILINE)
_TOTAL: Final = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
_NO_RANDOM_ADDRESSES: Final = 0x0040000
_INTERPRETER: Final = re.compile(r"/libpython[^/]*$")
# valgrind emulates a processor, which has AVX2 only if the real one has it. With these features disabled, glibc uses
# the same memcpy, strlen and so on for every x86-64. Other architectures and C libraries ignore the variable.
_ANY_PROCESSOR: Final = "glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-ERMS,-FSRM"


class MissingToolError(Exception):
    """A tool that a count needs is missing; the message names it."""


def compiler() -> list[str]:
    """The C compiler's command; an empty name if there is none."""
    return shlex.split(os.environ.get("CC", "")) or [next(filter(shutil.which, ("cc", "gcc", "clang")), "")]


def build(kind: str, folder: Path) -> Path:
    """Compile a shim.

    Raises:
        MissingToolError: No compiler, no valgrind, or no headers of valgrind.
    """
    if kind in OF_BUILD and shutil.which("valgrind") is None:
        raise MissingToolError("valgrind is not installed")
    command = compiler()
    if not shutil.which(command[0]):
        raise MissingToolError("there is no C compiler")
    source, library = folder / f"{kind}.c", folder / f"{kind}.so"
    source.write_text(_SOURCES[kind])
    flags = ["-O2", "-shared", "-fPIC"]
    if sys.platform == "darwin":
        flags += ["-undefined", "dynamic_lookup"]
    run = subprocess.run(
        [*command, *flags, "-o", str(library), str(source)], capture_output=True, text=True, check=False
    )
    if run.returncode:
        if "valgrind/callgrind.h" in run.stderr:
            raise MissingToolError("valgrind's headers are not installed")
        raise MissingToolError(f"{command[0]} failed: {run.stderr.strip().splitlines()[-1:]}")
    return library


def allocations(running: Running, library: str) -> float:
    """Allocations per call, instrumented minus bare, on the calling thread."""
    shim = ctypes.CDLL(library)
    shim.end.restype = ctypes.c_longlong
    return _difference(running, lambda arm: _allocations_of(arm, shim))


def _allocations_of(arm: Arm, shim: Any) -> int:
    with quiet(arm):
        shim.begin()
        arm.block(CALLS)
        return int(shim.end())


def _difference(running: Running, count: Callable[[Arm], int]) -> float:
    return (count(running.instrumented) - count(running.bare)) / CALLS


def dump_profiles(running: Running, library: str, name: str) -> None:
    """Write a profile of each callable for `read_profiles`; runs under valgrind."""
    shim = ctypes.CDLL(library)
    shim.end.argtypes = [ctypes.c_char_p]
    for arm_name, arm in (("bare", running.bare), ("instrumented", running.instrumented)):
        label = f"{arm_name} {name}".encode()
        with quiet(arm):
            shim.begin()
            arm.block(CALLS)
            shim.end(label)


def under_valgrind(command: Sequence[str], folder: Path, metrics: Sequence[str] = (INSTRUCTIONS,)) -> list[str]:
    """Return the command that runs this one under callgrind and writes profiles for these metrics to the folder.

    Threads are profiled separately: work of an export thread is not part of a call.
    """
    return [
        "valgrind",
        "--quiet",
        "--tool=callgrind",
        "--instr-atstart=no",
        "--separate-threads=yes",
        *(("--dump-instr=yes", "--compress-pos=no", "--compress-strings=no") if CACHE_LINES in metrics else ()),
        f"--callgrind-out-file={folder / 'profile.%p'}",
        *command,
    ]


def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a process whose instructions are counted."""
    tunables = environment.get("GLIBC_TUNABLES")
    return {"GLIBC_TUNABLES": f"{tunables}:{_ANY_PROCESSOR}" if tunables else _ANY_PROCESSOR}


def fix_addresses() -> None:
    """Disable address randomisation in the process about to start; if that is refused, counts vary by 1 %."""
    try:
        ctypes.CDLL(None).personality(_NO_RANDOM_ADDRESSES)
    except (OSError, AttributeError):
        return


def read_instructions(folder: Path) -> dict[str, tuple[float, float]]:
    """Instructions per call for each name given to `dump_profiles`: instrumented minus bare, and instrumented."""
    found = read_profiles(folder, lambda text: int(total[1]) if (total := _TOTAL.search(text)) else 0)
    return {name: ((instrumented - bare) / CALLS, instrumented / CALLS) for name, (bare, instrumented) in found.items()}


def read_profiles(folder: Path, read: Callable[[str], _Read]) -> dict[str, tuple[_Read, _Read]]:
    """What is read from the profiles of the two callables, bare first, for each name given to `dump_profiles`."""
    found: dict[str, dict[str, _Read]] = {}
    for file in folder.glob("profile.*"):
        text = file.read_text(errors="replace")
        label = _LABEL.search(text)
        if label and _FIRST.search(text):
            found.setdefault(label[2], {})[label[1]] = read(text)
    return {
        name: (arms["bare"], arms["instrumented"])
        for name, arms in found.items()
        if arms.keys() == {"bare", "instrumented"}
    }


@functools.cache
def interpreter() -> str:
    """The build of the interpreter and the C library, which instruction counts are valid for.

    The description of a build is not enough: two builds with the same one can differ by several per cent.
    """
    settings = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    level = re.search(r"-O\w+", str(sysconfig.get_config_var("PY_CFLAGS") or ""))
    parts = [
        f"{sys.implementation.name} {'.'.join(map(str, sys.version_info[:3]))}",
        sys.version.partition("[")[2].rstrip("]") or "unknown compiler",
        level[0] if level else "",
        "pgo" if "--enable-optimizations" in settings else "",
        "lto" if "--with-lto" in settings else "",
        " ".join(
            os.confstr(name) or "" for name in ("CS_GNU_LIBC_VERSION",) if name in getattr(os, "confstr_names", ())
        ),
        os.uname().machine if hasattr(os, "uname") else "",
        _digest(),
    ]
    return ", ".join(part for part in parts if part)


def _digest() -> str:
    """A digest of the files with the interpreter's code; empty if they cannot be found."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        mapped = {line.split(maxsplit=5)[-1] for line in maps if "r-xp" in line}
        files = sorted(name for name in mapped if _INTERPRETER.search(name) or name == os.path.realpath(sys.executable))
        digest = hashlib.sha256()
        for name in files:
            digest.update(Path(name).read_bytes())
    except OSError:
        return ""
    return f"sha256 {digest.hexdigest()[:12]}" if files else ""


@functools.cache
def tools() -> str:
    """The compiler and valgrind, which instruction counts also depend on: one compiles extensions, one runs them."""
    found = []
    for command in (compiler(), ["valgrind"]):
        try:
            run = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        except OSError:
            continue
        found += run.stdout.splitlines()[:1]
    return ", ".join(found)
