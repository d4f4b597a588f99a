"""All programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.prove.library_programs import library_programs
from otel_fastpath.tools.prove.log_programs import log_programs
from otel_fastpath.tools.prove.metric_programs import metric_programs
from otel_fastpath.tools.prove.span_programs import span_programs

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import Program

# Programs of signals need less time than those of libraries: there are so many times as many.
_SPANS: Final = 6
_METRICS: Final = 5
_LOGS: Final = 4


def programs(number: int) -> list[Program]:
    """So many of each library, and of signals in proportion."""
    return [
        *span_programs(0, _SPANS * number),
        *metric_programs(0, _METRICS * number),
        *log_programs(0, _LOGS * number),
        *library_programs(0, number),
    ]
