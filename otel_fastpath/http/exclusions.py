"""Which requests are excluded, as stock's `ExcludeList` decides, without making their URL again for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.util.http import ExcludeList

from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.sources.guard import SkipError

if TYPE_CHECKING:
    from collections.abc import Callable


def is_of_stock(urls: Any) -> bool:
    """Whether URLs are excluded by stock's own class, and by no method of this object only."""
    return type(urls) is ExcludeList and "url_disabled" not in urls.__dict__


def excludes(urls: Any) -> bool:
    """Whether a list of excluded URLs can exclude anything."""
    if type(urls) is ExcludeList and not urls._excluded_urls:
        return "url_disabled" in urls.__dict__
    return bool(urls)


def search_of(urls: Any) -> Callable[[str], Any] | None:
    """What finds out whether a client's URL is excluded; None: no URL is.

    Raises:
        SkipError: The list is not in stock's own class: stock's code decides.
    """
    if not is_of_stock(urls):
        raise SkipError(f"excluded URLs are in a {type(urls).__name__} of others")
    return urls._regex.search if urls._excluded_urls else None


class Exclusions:
    """The decisions about the URLs that were seen.

    Args:
        urls: The list of excluded URLs.
    """

    __slots__ = ("_known", "urls")

    def __init__(self, urls: Any) -> None:
        self.urls = urls
        self._known: dict[Any, bool] = {}

    def is_excluded(self, key: tuple[Any, ...] | None, url: Callable[[], str]) -> bool:
        """Whether a URL is excluded.

        Args:
            key: The texts from which the URL follows; None: it is not known what it follows from.
            url: Makes the URL.
        """
        if not is_of_stock(self.urls):
            # It may ask who calls.
            key = None
        found = None if key is None else self._known.get(key)
        if found is None:
            found = bool(self.urls.url_disabled(url()))
            if key is not None and sum([len(part) for part in key if part]) <= LONGEST:
                keep(self._known, key, found)
        return found
