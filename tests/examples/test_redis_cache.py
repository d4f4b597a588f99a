"""The example of docs/redis.md prints a line for each span."""

import pytest


def test_the_example_prints_its_spans(output_of, start_redis):
    """No argument is in a text; the lock's first release finds its script missing, which is no error."""
    pytest.importorskip("redis", reason="redis is not installed")
    output = output_of("redis_cache", REDIS_URL=f"redis://127.0.0.1:{start_redis().port}")

    assert [" ".join(line.split()) for line in output.splitlines()] == [
        "SET SET ? ? ? ?",
        "GET GET ?",
        "PIPELINE GET GET ?",
        "MULTI INCRBY ? ?; EXPIRE ? ?",
        "SET SET ? ? ? ? ?",
        f"MSET MSET{' ?' * 16} ...",
        "EVALSHA EVALSHA ? ? ? ?",
        "SCRIPT LOAD SCRIPT LOAD ?",
        "EVALSHA EVALSHA ? ? ? ?",
        "CONFIG SET CONFIG SET ? ?",
        "LPUSH WRONGTYPE LPUSH ? ?",
        "DEL DEL ?",
    ]
