"""The caches that are bounded by bytes, and by the number of their entries."""

from __future__ import annotations

import pytest

from otel_fastpath.patching.cache import Cache, keep, remembering


def test_an_entry_is_kept():
    """What is kept is found under its key."""
    cache = Cache(1000)
    cache.keep("key", "value", 10)
    assert cache.items == {"key": "value"}


def test_it_never_holds_more_bytes_than_it_may():
    """The oldest entries make room for the next one, and only as many as it needs."""
    cache = Cache(1000, largest=100)
    for number in range(1000):
        cache.keep(number, "value", 100 if number % 2 else 50)
        assert len(cache.items) <= 20
    assert list(cache.items) == list(range(987, 1000))


def test_a_cache_that_was_cleared_can_be_filled_again():
    """What it held before does not count."""
    cache = Cache(100, largest=100)
    for _ in range(3):
        cache.keep("key", "value", 80)
        cache.clear()
    cache.keep("a", 1, 50)
    cache.keep("b", 2, 50)
    assert cache.items == {"a": 1, "b": 2}


def test_a_full_dict_forgets_its_oldest_entries():
    """A sixteenth of them, and what was kept last is still there."""
    known = {}
    for number in range(1000):
        keep(known, number, "value", 64)
        assert len(known) <= 64
        assert list(known)[-59:] == list(range(max(0, number - 58), number + 1))


def test_a_function_is_called_again_for_what_was_forgotten():
    """A result among the newest is remembered, the oldest is not."""
    called = []

    @remembering(16)
    def double(number):
        called.append(number)
        return 2 * number

    assert [double(number) for number in range(17)] == [2 * number for number in range(17)]
    assert (double(16), double(8), double(0)) == (32, 16, 0)
    assert called == [*range(17), 0]


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
