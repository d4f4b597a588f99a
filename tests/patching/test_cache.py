"""The cache that is bounded by bytes."""

from __future__ import annotations

import pytest

from otel_fastpath.patching.cache import Cache


def test_an_entry_is_kept():
    """What is kept is found under its key."""
    cache = Cache(1000)
    cache.keep("key", "value", 10)
    assert cache.items == {"key": "value"}


def test_it_never_holds_more_bytes_than_it_may():
    """A full cache is emptied before the next entry."""
    cache = Cache(1000, largest=100)
    for number in range(1000):
        cache.keep(number, "value", 100)
        assert len(cache.items) <= 10
    assert cache.items


def test_what_fits_stays():
    """Nothing is forgotten while there is room."""
    cache = Cache(1000, largest=100)
    for number in range(10):
        cache.keep(number, "value", 100)
    assert list(cache.items) == list(range(10))


@pytest.mark.parametrize(("largest", "size"), [(None, 16), (100, 101)])
def test_a_large_entry_is_not_kept_and_drives_nothing_out(largest, size):
    """A megabyte of SQL must not cost the plans of the statements that repeat."""
    cache = Cache(1000, largest)
    cache.keep("small", 1, 5)
    cache.keep("large", 2, size)
    assert cache.items == {"small": 1}


def test_the_dict_of_the_items_stays_the_same_object():
    """Hot code reads the dict that it took once."""
    cache = Cache(100, largest=100)
    items = cache.items
    cache.keep("a", 1, 80)
    cache.keep("b", 2, 80)
    assert cache.items is items
    assert items == {"b": 2}
