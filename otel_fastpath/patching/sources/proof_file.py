"""Reads `otel-fastpath-proven.toml`, which `otel-fastpath prove --write` writes."""

from __future__ import annotations

import json
import re
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import interpreter
from otel_fastpath.patching.sources.proven import Proof

if TYPE_CHECKING:
    from collections.abc import Mapping

AGAIN: Final = "run `otel-fastpath prove --write` here"
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{12}")
_PLACE: Final = re.compile(r"[\w.]+:[\w.<>]+")


class ProofError(Exception):
    """The file cannot be used; the message says what was expected."""


def python() -> str:
    """The interpreter, as the file names it."""
    return f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"


def read(file: str, core: str) -> Proof:
    """What the file says was proven, if it was proven with what is installed.

    Args:
        file: The file.
        core: The core in use.

    Raises:
        ProofError: See above. Then nothing in the file counts.
    """
    content = _parsed(file)
    try:
        proof = _proof(content)
        distributions = {str(name): str(version) for name, version in content["distributions"].items()}
        written = str(content["python"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProofError(f"a file that `otel-fastpath prove --write` has written ({error!r})") from None
    if written != python():
        raise ProofError(f"{written}, with which it was written, and not {python()}: {AGAIN}")
    if core not in proof.cores:
        raise ProofError(f"the core {' or '.join(proof.cores)}, with which it was written, and not {core}: {AGAIN}")
    for name, version in distributions.items():
        installed = interpreter.version(name)
        if installed != version:
            raise ProofError(f"{name} {version}, with which it was written, and not {installed or 'none'}: {AGAIN}")
    return proof


def _parsed(file: str) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415  # Python 3.10 does not have it, and no other service needs it
    else:
        try:
            import tomli as tomllib  # noqa: PLC0415  # only there
        except ImportError:
            raise ProofError("tomli to be installed, which reads it on Python 3.10") from None
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ProofError(f"a readable file ({error.strerror})") from None
    except ValueError as error:
        raise ProofError(f"TOML ({error})") from None


def _proof(content: Mapping[str, Any]) -> Proof:
    sources, programs = {}, {}
    for place, found in content["sources"].items():
        fingerprint, number = found["fingerprint"], found["programs"]
        if not _PLACE.fullmatch(place) or not _FINGERPRINT.fullmatch(fingerprint) or type(number) is not int:
            raise ValueError(place)
        sources[place], programs[place] = fingerprint, number
    day = date.fromisoformat(str(content["date"])).isoformat()
    return Proof(day, tuple(map(str, content["cores"])), sources, programs)


def text_of(proof: Proof, distributions: Mapping[str, str]) -> str:
    """The file that says this.

    Args:
        proof: What was proven.
        distributions: The names of the distributions that it was proven with -> their versions.
    """
    lines = [
        "# Written by `otel-fastpath prove --write`, for OTEL_FASTPATH_PROVEN. It counts only where the interpreter",
        "# and all of these distributions are the same.",
        f'python = "{python()}"',
        f"date = {proof.date}",
        f"cores = {json.dumps(proof.cores)}",
        "",
        "[distributions]",
        *(f'{name} = "{version}"' for name, version in sorted(distributions.items())),
        "",
        "[sources]",
        *(
            f'"{place}" = {{ fingerprint = "{found}", programs = {proof.programs[place]} }}'
            for place, found in sorted(proof.sources.items())
        ),
    ]
    return "\n".join(lines) + "\n"
