"""Scrapes of Prometheus: `opentelemetry-exporter-prometheus`, and `generate_latest` of `prometheus_client`.

Stock: 2.1 million instructions for a point of a histogram (CPython 3.13, exporter 0.66b2, client 0.26.0). Each of its
18 samples is a tuple with a dict of labels, which are sorted and escaped for its line. Here a family keeps the labels
and values of its points, and the page is written from these; labels are written once for each point.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.known import Known

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_HERE: Final = "otel_fastpath.metrics.prometheus"
_EXPORTER: Final = "opentelemetry.exporter.prometheus"
_CORE: Final = "prometheus_client.metrics_core"
_OPEN: Final = "prometheus_client.openmetrics.exposition"
_TEXT_PAGE: Final = "prometheus_client.exposition:generate_latest"
_OPEN_PAGE: Final = f"{_OPEN}:generate_latest"
_CLIENT: Final = ("prometheus-client>=0.17,<1",)
_REQUIRES: Final = (*_CLIENT, "opentelemetry-exporter-prometheus>=0.64b0")
_COUNTERS: Final = ("scrape of 128 counter points",)
_HISTOGRAMS: Final = ("scrape of 128 histogram points",)
_EARLIER: Final = "A module that has imported it earlier keeps stock's."
# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))


def _bind(module: str, *given: Any) -> Callable[[Any, Config], Any]:
    # The modules import the exporter: only where it is patched.
    def make(original: Any, _settings: Config) -> Any:
        return importlib.import_module(f"{_HERE}.{module}").bind(original, *given)

    return make


def _family(kind: str, budgets: tuple[str, ...], *more: str) -> Patch:
    target = f"{_EXPORTER}:_populate_{kind.lower()}_family"
    name = f"{kind}MetricFamily"
    return Patch(
        name=f"prometheus.{kind.lower()}",
        target=target,
        why="A sample for each line of the page, with a dict of labels; here they are made when they are read.",
        make=_bind("families", name),
        requires=_REQUIRES,
        sources=KNOWN.sources(
            target,
            f"{_EXPORTER}:_get_or_create_family",
            *more,
            f"{_CORE}:Metric",
            f"{_CORE}:{name}",
            "prometheus_client.samples:Sample",
        ),
        budgets=budgets,
    )


def _page(name: str, target: str, of: str, end: bytes, budgets: tuple[str, ...]) -> Patch:
    return Patch(
        name=f"prometheus.{name}",
        target=target,
        why=f"Sorts and escapes the labels of each line; here they are those of the point. {_EARLIER}",
        make=_bind("pages", end),
        requires=_CLIENT,
        # Pages without families of the exporter stay stock's.
        after=(_EXPORTER,),
        # Imported under another name, it is the same function.
        sources={target: KNOWN.sources(of)[of]}
        | KNOWN.sources("prometheus_client.utils:floatToGoString")
        | KNOWN.sources_if_any(*(f"{_OPEN}:{each}" for each in ("_escape", "escape_label_name", "escape_metric_name"))),
        budgets=budgets,
    )


PATCHES: Final = (
    Patch(
        name="prometheus.labels",
        target=f"{_EXPORTER}:_CustomCollector._collect_data_points",
        why="Makes a label's name of each key of each point, by a regular expression; here once for each key.",
        make=_bind("point_labels"),
        requires=_REQUIRES,
        sources=KNOWN.sources(
            f"{_EXPORTER}:_CustomCollector._collect_data_points",
            f"{_EXPORTER}:_CustomCollector._check_value",
            f"{_EXPORTER}._mapping:sanitize_attribute",
        ),
        budgets=(*_HISTOGRAMS, *_COUNTERS),
    ),
    _family("Counter", _COUNTERS),
    _family("Gauge", _COUNTERS),
    _family("Histogram", _HISTOGRAMS, f"{_EXPORTER}:_convert_buckets"),
    _page("text_page", _TEXT_PAGE, _TEXT_PAGE, b"", _HISTOGRAMS),
    _page("text_page_by_name", "prometheus_client:generate_latest", _TEXT_PAGE, b"", _HISTOGRAMS),
    _page("open_metrics_page", _OPEN_PAGE, _OPEN_PAGE, b"# EOF\n", ("scrape as OpenMetrics",)),
)
