"""Queueing an ended span for export, as upstream's `BatchProcessor` does. Plain Python; compiled as `_batch_c`."""

from __future__ import annotations

from os import getpid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_fastpath.core._capi import *

# What `_span` takes from here; its compiled twin takes it by `cimport`.
__all__ = ["enqueue"]

# In the compiled twin COMPILED is a constant 1 of `_capi.pxd`, which also defines the c_ functions.
globals().setdefault("COMPILED", False)


class Batch:
    """What queueing a span needs of a `BatchProcessor`; what may change is read from the processor.

    Args:
        processor: The processor. Its queue and limits are the same objects for its whole life, also after a fork.
    """

    __slots__ = ("append", "max_batch", "max_queue", "pid", "processor", "queue")

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        self.queue = processor._queue
        self.append = self.queue.appendleft
        self.max_queue = processor._max_queue_size
        self.max_batch = processor._max_export_batch_size
        self.pid = processor._pid


def enqueue(batch: Any, span: Any) -> None:
    """`BatchProcessor.emit` for the case that nothing is in the way; else that method itself."""
    length = len(batch.queue) + 1
    if COMPILED:
        in_the_way = batch.pid != c_getpid() or c_read(batch.processor, "_shutdown")
    else:
        in_the_way = batch.pid != getpid() or batch.processor._shutdown
    if in_the_way or length > batch.max_queue:
        batch.processor.emit(span)
        batch.pid = batch.processor._pid
        return
    batch.append(span)
    if length >= batch.max_batch:
        awaken = batch.processor._worker_awaken
        if not awaken.is_set():
            awaken.set()
