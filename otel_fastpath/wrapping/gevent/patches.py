"""The patches of gevent. Its class of greenlets is compiled and cannot be patched: what makes greenlets is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.patch import Patch
from otel_fastpath.wrapping.gevent import carrying

if TYPE_CHECKING:
    from collections.abc import Callable

_GEVENT: Final = ("gevent>=24.10",)
_SPAWNED: Final = "The greenlet begins in the context of the code that spawns it."
_CALLED: Final = "The function is called in the context of the code that asked for it."


def _patch(name: str, target: str, why: str, make: Callable[[Any], Any]) -> Patch:
    return Patch(
        name=f"gevent.{name}",
        target=target,
        why=why,
        make=lambda original, _settings: make(original),
        requires=_GEVENT,
        budgets=("gevent, spawn",),
    )


PATCHES: Final = (
    *(_patch(name, f"gevent:{name}", _SPAWNED, carrying.make_spawn) for name in ("spawn", "spawn_later", "spawn_raw")),
    _patch("pool.spawn", "gevent.pool:Group.spawn", _SPAWNED, carrying.make_spawn),
    *(
        _patch(f"pool.{name}", f"gevent.pool:GroupMappingMixin.{name}", _SPAWNED, carrying.make_spawn)
        for name in ("apply_async", "map_async")
    ),
    *(
        _patch(f"pool.{name}", f"gevent.pool:GroupMappingMixin.{name}", _CALLED, carrying.make_map)
        for name in ("map", "imap", "imap_unordered")
    ),
    _patch("threadpool.spawn", "gevent.threadpool:ThreadPool.spawn", _CALLED, carrying.make_map),
)
