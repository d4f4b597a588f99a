"""Names of functions in a recording, which can be made of any characters."""

from __future__ import annotations

import json

import pytest

from otel_fastpath.tools.profile.profile_file import Recording


def test_names_in_a_recording_cannot_steer_the_terminal(tmp_path):
    """They are escaped when a recording is read, so that no output has them."""
    odd = "name\x1b]0;title\x07\nnext"
    document = {
        "process": 1,
        "python": "3.13",
        "seconds": 1.0,
        "cpu": 1.0,
        "own": 0.0,
        "collecting": 0.0,
        "lost": 0.0,
        "samples": 1,
        "requests": 0,
        "frames": [[odd, odd, odd, 1, 1]],
        "main": [[[[0], 1.0]]],
        "others": [[odd, [0], 1.0]],
        "calls": {odd: 1.0},
        "patches": [[odd, odd, odd]],
    }
    path = tmp_path / "1.json"
    path.write_text(json.dumps(document))
    path.chmod(0o600)

    found = Recording.read(path)

    shown = "name\\x1b]0;title\\x07\\nnext"
    assert found.frames[0].function == f"{shown}.{shown}"
    assert found.others[0][0] == next(iter(found.calls)) == found.patches[0][0] == shown


def test_a_recording_that_others_can_write_to_is_refused(tmp_path):
    """It may be anybody's."""
    path = tmp_path / "1.json"
    path.write_text("{}")
    path.chmod(0o666)

    with pytest.raises(OSError, match="others can write to it"):
        Recording.read(path)
