"""docs/troubleshooting.md has a row for each message in the source, and no row without one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
sys.path.insert(0, str(Path(__file__).parent))
import messages  # noqa: E402  # found only from here on

MESSAGES = messages.messages()
# OpenTelemetry logs these, too: its code was replaced, and logs the same.
OF_STOCK = {
    "Error during request teardown: \u2026",
    "Exception raised by \u2026",
    "Exception while exporting Span.",
    "Failed to detach context",
    "Flask environ's OpenTelemetry span missing at _start_response(\u2026)",
    "Importing of \u2026 failed, skipping it",
    "Instrumented \u2026",
    "Instrumenting of \u2026 failed",
    "Skipping instrumentation \u2026: \u2026",
}
# A pattern with fewer letters would stand for everything.
LEAST_LETTERS = 3


def patterns():
    """The messages in the first cells of the rows, with `...` for any text."""
    cells = re.findall(r"^\| (`.+?`) \| ", PAGE, re.MULTILINE)
    return [each for cell in cells for each in re.findall(r"`([^`]+)`", cell)]


def fits(pattern, message):
    """Whether a row stands for a message."""
    parts = (re.escape(part) for part in pattern.split("..."))
    return re.fullmatch(".*".join(parts), message.replace("`", ""), re.DOTALL) is not None


@pytest.mark.parametrize("message", sorted(MESSAGES.keys() - OF_STOCK))
def test_each_message_has_a_row(message):
    """Or it is one of OpenTelemetry's own."""
    assert any(fits(pattern, message) for pattern in patterns()), f"{MESSAGES[message]}: add a row to the page"


@pytest.mark.parametrize("pattern", patterns())
def test_each_row_has_a_message(pattern):
    """A message that is gone takes its row with it."""
    assert len(re.sub(r"[^a-zA-Z]", "", pattern)) >= LEAST_LETTERS
    assert [message for message in MESSAGES if fits(pattern, message)], pattern


def test_what_is_stocks_is_still_in_the_source():
    """Otherwise it is no message any more."""
    assert MESSAGES.keys() >= OF_STOCK


def test_each_row_has_a_cause_and_a_cure():
    """Three cells."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]

    assert [row for row in rows if not re.fullmatch(r"\| `.*` \| [^|]+ \| ?[^|]* ?\|", row)] == []


def test_a_new_message_is_found(tmp_path, monkeypatch):
    """Of each kind: a log record, an error of a command, a reason."""
    folder = tmp_path / "otel_fastpath" / "patching"
    folder.mkdir(parents=True)
    (folder / "new.py").write_text(
        "_logger.warning('One %s is logged.', 1)\nraise UsageError(f'two {1} is printed')\nreason = 'three is shown'\n"
    )
    monkeypatch.setattr(messages, "PACKAGE", tmp_path / "otel_fastpath")

    assert set(messages.messages()) == {"One \u2026 is logged.", "two \u2026 is printed", "three is shown"}


def test_it_is_short():
    """As are the other pages of this kind."""
    assert len([word for word in PAGE.split() if re.search(r"\w", word)]) <= 1500
