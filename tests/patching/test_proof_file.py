"""The file of `otel-fastpath prove`."""

from __future__ import annotations

import pytest

from otel_fastpath.patching import interpreter
from otel_fastpath.patching.sources import proven
from otel_fastpath.patching.sources.proof_file import ProofError, python, read, text_of
from otel_fastpath.patching.sources.proven import NOTHING, Proof

PLACE = "opentelemetry.sdk.trace:Span.end"
PROOF = Proof("2026-11-27", ("c", "py"), {PLACE: "0123456789ab"}, {PLACE: 12})
VERSIONS = {name: interpreter.version(name) for name in ("opentelemetry-api", "opentelemetry-sdk")}


@pytest.fixture
def file(tmp_path):
    """The name of a file with a proof."""
    path = tmp_path / proven.FILE
    path.write_text(text_of(PROOF, VERSIONS), encoding="utf-8")
    return path


def test_what_is_written_is_read(file):
    """With all that belongs to it."""
    assert read(str(file), "c") == PROOF


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (VERSIONS["opentelemetry-sdk"], "9.9.9", "opentelemetry-api 9.9.9, with which it was written, and not"),
        (python(), "cpython 2.7", f"cpython 2.7, with which it was written, and not {python()}: run `otel-fastpath"),
        ('"opentelemetry-sdk"', '"nothing-of-this-name"', None),
        ("opentelemetry-sdk =", "nothing-of-this-name =", "and not none: run"),
        ("0123456789ab", "0123", "that `otel-fastpath prove --write` has written"),
        ("fingerprint", "print", "that `otel-fastpath prove --write` has written"),
        ("programs = 12", 'programs = "12"', "that `otel-fastpath prove --write` has written"),
        (PLACE, "rm -rf", "that `otel-fastpath prove --write` has written"),
        ('["c", "py"]', '["py"]', "the core py, with which it was written, and not c: run `otel-fastpath"),
        ('["c", "py"]', "[]", "the core , with which"),
        ("cores", "kernels", "that `otel-fastpath prove --write` has written"),
        ("[sources]", "[other]", "that `otel-fastpath prove --write` has written"),
        ("2026-11-27", "yesterday", "TOML"),
        ("2026-11-27", '"yesterday"', "that `otel-fastpath prove --write` has written"),
        ("[distributions]", "distributions = 3\n[other]", "that `otel-fastpath prove --write` has written"),
        ("=", "", "TOML"),
    ],
)
def test_what_cannot_be_used(file, old, new, expected):
    """One message, which says what was expected."""
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    if expected is None:
        assert read(str(file), "c") == PROOF
        return
    with pytest.raises(ProofError, match=expected.replace("`", ".")):
        read(str(file), "c")


@pytest.mark.parametrize(
    ("content", "expected"), [(None, "a readable file"), (b"\xff\xfe", "TOML"), (b"\x00", "TOML"), (b"", "written")]
)
def test_what_is_no_such_file(tmp_path, content, expected):
    """A folder, and bytes that are no text."""
    path = tmp_path / "file"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ProofError, match=expected):
        read(str(path), "c")


def test_what_is_proven():
    """Exactly this source, in this place."""
    assert PROOF.accepts(PLACE, "0123456789ab")
    assert not PROOF.accepts(PLACE, "ffffffffffff")
    assert not PROOF.accepts("opentelemetry.sdk.trace:Span", "0123456789ab")
    assert PROOF.remark([PLACE, "opentelemetry.sdk.trace:Span"]) == "proven here on 2026-11-27 by 12 programs"
    assert PROOF.remark(["opentelemetry.sdk.trace:Span"]) == ""


def test_nothing_is_proven_by_default():
    """And nothing is accepted."""
    assert not proven.is_used()
    assert not NOTHING.accepts(PLACE, "0123456789ab")
