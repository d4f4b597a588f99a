"""Counts how often each hook is called, by `sys.monitoring`: nothing else becomes slower. From Python 3.12 on."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.profile.attribution import modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import CodeType

_NAME: Final = "otel-fastpath profile"
# The ids that no kind of tool has by convention come first.
_IDS: Final = (3, 4, 2, 0, 1, 5)
_MOST: Final = 300
# The functions of servers that serve one request: module, name.
SERVING: Final = frozenset(
    {
        ("aiohttp.web_protocol", "RequestHandler._handle_request"),
        ("django.core.handlers.wsgi", "WSGIHandler.__call__"),
        ("flask.app", "Flask.wsgi_app"),
        ("gunicorn.workers.sync", "SyncWorker.handle_request"),
        ("hypercorn.asyncio.task_group", "_handle"),
        ("uvicorn.protocols.http.h11_impl", "RequestResponseCycle.run_asgi"),
        ("uvicorn.protocols.http.httptools_impl", "RequestResponseCycle.run_asgi"),
    }
)


class HookCalls:
    """The hooks whose calls are counted.

    Attributes:
        counts: The number of calls, by the `id` of the code object.
        since: When counting began, `time.perf_counter_ns()`, likewise.
    """

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.since: dict[int, int] = {}
        self._codes: dict[int, CodeType] = {}
        self._seen: set[tuple[int, ...]] = set()
        self._serving: set[int] = set()
        self._tool: int | None = None
        self._is_stopped = sys.version_info < (3, 12)

    def count_in(self, stacks: Iterable[tuple[int, ...]], codes: Mapping[int, tuple[CodeType, str]]) -> None:
        """Count the calls of the hooks that occur in these stacks from now on.

        Args:
            stacks: See `sampler.Key`.
            codes: See `Sampler.codes`.
        """
        if self._is_stopped:
            return
        new = [stack for stack in list(stacks) if stack not in self._seen]
        self._seen.update(new)
        for stack in new:
            is_telemetry = False
            for key in reversed(stack[1::2]):
                code, module = codes[key]
                was_telemetry, is_telemetry = is_telemetry, modules.kind(module) == modules.TELEMETRY
                if key in self.counts or len(self.counts) >= _MOST:
                    continue
                is_serving = (module, getattr(code, "co_qualname", "")) in SERVING
                if is_serving or (is_telemetry and not was_telemetry):
                    self._count(key, code)
                if is_serving:
                    self._serving.add(key)

    def _count(self, key: int, code: CodeType) -> None:
        if sys.version_info < (3, 12) or (self._tool is None and not self._begin()):
            return
        self.counts[key], self.since[key], self._codes[key] = 0, time.perf_counter_ns(), code
        monitoring = sys.monitoring
        monitoring.set_local_events(self._tool, code, monitoring.events.PY_START)  # type: ignore[arg-type]

    def _begin(self) -> bool:
        if sys.version_info < (3, 12):
            return False
        monitoring = sys.monitoring
        for tool in _IDS:
            if monitoring.get_tool(tool) is None:
                try:
                    monitoring.use_tool_id(tool, _NAME)
                except ValueError:
                    continue  # another thread was faster
                self._tool = tool
                monitoring.register_callback(tool, monitoring.events.PY_START, self._on_start)
                return True
        self._is_stopped = True
        return False

    def _on_start(self, code: CodeType, _offset: int) -> Any:
        key = id(code)
        if key in self.counts:
            self.counts[key] += 1

    def stop(self) -> None:
        """Count no more, and free the tool's id."""
        self._is_stopped = True
        if sys.version_info < (3, 12) or self._tool is None:
            return
        monitoring, tool = sys.monitoring, self._tool
        self._tool = None
        for code in self._codes.values():
            monitoring.set_local_events(tool, code, 0)
        monitoring.register_callback(tool, monitoring.events.PY_START, None)
        monitoring.free_tool_id(tool)

    def requests(self) -> int:
        """The number of requests that were served since the first was sampled; the largest of several layers."""
        return max((self.counts[key] for key in self._serving), default=0)

    def rates(self, end_ns: int) -> dict[int, float]:
        """The calls in a second, by the `id` of the code object.

        Args:
            end_ns: When counting ended, `time.perf_counter_ns()`.
        """
        return {key: count * 1e9 / max(end_ns - self.since[key], 1) for key, count in self.counts.items()}
