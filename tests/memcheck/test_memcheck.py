"""What valgrind's log says is read: whose errors and losses are whose. `make memcheck` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hotpaths.valgrind import Losses, _ours, show

LOG = """
==7== Command: python
**7** begin span, current
==7== 20 bytes in 1 blocks are definitely lost in loss record 1 of 9
==7==    at 0x1: malloc (vg_replace_malloc.c:309)
==7==    by 0x2: end (in /a/otel_fastpath/trace/span_c.cpython-313-x86_64-linux-gnu.so)
==7==
==7== 40 bytes in 1 blocks are definitely lost in loss record 2 of 9
==7==    by 0x3: PyInit (in /a/pydantic_core/_pydantic_core.cpython-313-x86_64-linux-gnu.so)
==7==
**7** end span, current
"""


def test_a_loss_is_ours_where_a_module_of_ours_is_in_its_stack():
    """And belongs to the path that was gone through."""
    found = _ours(LOG)
    assert list(found) == ["span, current"]
    assert [record.splitlines()[0][:8] for record in found["span, current"]] == ["20 bytes"]


def test_what_stock_loses_as_well_is_no_failure(capsys):
    """More errors than stock has is, a loss of ours is, and a block more for each round."""
    stock = {"a": Losses(1, 100, 2)}
    assert show({"a": Losses(1, 100, 2)}, stock, 50)
    assert show({"a": Losses(0, 200, 20)}, stock, 50)
    assert not show({"a": Losses(2, 100, 2)}, stock, 50)
    assert not show({"a": Losses(1, 100, 2, ["20 bytes"])}, stock, 50)
    assert not show({"a": Losses(1, 100, 60)}, stock, 50)
    assert "FAILS" in capsys.readouterr().out
