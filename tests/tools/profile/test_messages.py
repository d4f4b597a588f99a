"""Messages that are formatted before `logging` is called: found in the source, and told with their share."""

from __future__ import annotations

import logging
import signal
import time

import pytest

from otel_fastpath.profile import profiling
from otel_fastpath.tools.profile.attribution.eager_messages import _messages

SOURCE = """import logging
logger = logging.getLogger(__name__)


class Shop:
    def sell(self, order):
        logger.debug(f"sold {order}")
        logger.debug("sold %s", order)
        self._log.info("sold %s" % order)
        logging.getLogger().warning("sold {}".format(order))
        logger.log(10, f"sold {order}")
        logger.info(f"no value")
        logger.error(
            "sold "
            + str(order),
            exc_info=True,
        )
        screen.info(f"sold {order}")
        logger.debug()
        logger.setLevel(f"{order}")
"""
SLOW = """
import logging
logger = logging.getLogger("shop")

def work(orders, until, clock):
    while clock() < until:
        logger.debug(f"all of them: {orders}")
        logger.debug("all of them: %s", orders)
        sum(range(2_000))
"""


def test_the_calls_of_a_source(tmp_path):
    """Each with its lines; not one whose message is formatted in `logging`, or of another object."""
    path = tmp_path / "shop.py"
    path.write_text(SOURCE, encoding="utf-8")

    assert _messages(str(path)) == (
        (7, 7, "debug"),
        (9, 9, "info"),
        (10, 10, "warning"),
        (11, 11, "log"),
        (14, 15, "error"),
    )
    assert _messages(str(tmp_path / "missing.py")) == ()
    (tmp_path / "broken.py").write_text("def", encoding="utf-8")
    assert _messages(str(tmp_path / "broken.py")) == ()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer of CPU time")
def test_the_line_is_in_the_advice(tmp_path):
    """Of a program that spends most of its time formatting what nobody logs."""
    path = tmp_path / "shop.py"
    path.write_text(SLOW, encoding="utf-8")
    namespace = {"__name__": "shop"}
    exec(compile(SLOW, str(path), "exec"), namespace)  # noqa: S102  # a module of the test's own
    logging.getLogger("shop").setLevel(logging.INFO)

    with profiling() as profile:
        namespace["work"]([{"id": number} for number in range(300)], time.thread_time() + 2, time.thread_time)

    [line] = [line for line in profile.report.advice if "shop.py:7, `debug`" in line]
    assert float(line.removeprefix("-").partition("%")[0]) > 50
