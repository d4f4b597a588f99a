"""Statements with a secret in them, executed on a real server: no span, no metric and no byte of OTLP has it.

The event of an exception is left out: it has the server's message, as with every instrumentation.
"""

# ruff: noqa: S608  # texts made of parts are what this is about

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import asyncpg
import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

# OTEL_FASTPATH_TESTS=heavy does as much as the project promises.
COUNT = 500 if os.environ.get("OTEL_FASTPATH_TESTS") == "heavy" else 60
STATM = Path("/proc/self/statm")
# As a word, and as digits.
WORD = "zq7xhunter"
DIGITS = "47110815"
BITS = "1011001110001111"

SERVER = "CREATE FOREIGN DATA WRAPPER zq_w; CREATE SERVER zq_s FOREIGN DATA WRAPPER zq_w"

# What the server takes. Everything is rolled back.
TAKEN = (
    f"SELECT '{WORD}'",
    f"SELECT 'it''s {WORD}'",
    f"SELECT E'it\\'s {WORD}'",
    f"SELECT e'\\\\', '{WORD}'",
    f"SELECT '\\', '{WORD}'",
    f"SELECT N'{WORD}'",
    f"SELECT U&'{WORD}\\0061'",
    f"SELECT U&'{WORD}!0061' UESCAPE '!'",
    f"SELECT 'a'\n'{WORD}'",
    f"SELECT E'a'\n'\\'{WORD}'",
    f"SELECT $${WORD}$$",
    f"SELECT $a1$ $${WORD}$$ $a1$",
    f"SELECT $été$ {WORD} '$été$",
    f"SELECT $_$ {WORD} $_$",
    f"SELECT $€$ {WORD} $€$",
    f"SELECT {DIGITS}",
    f"SELECT -{DIGITS}, +{DIGITS}",
    f"SELECT {DIGITS}.5, .{DIGITS}, {DIGITS}.",
    f"SELECT {DIGITS}e-3, 1.{DIGITS}E+3",
    f"SELECT 0x{DIGITS}, 0X{DIGITS}",
    f"SELECT 0b{BITS}, 0o{DIGITS.replace('8', '7')[:4]}{DIGITS[:4]}",
    f"SELECT {DIGITS[:4]}_{DIGITS[4:]}",
    f"SELECT B'{BITS}', b'{BITS}'",
    f"SELECT X'{DIGITS}', x'{DIGITS}'",
    f"SELECT 1/{DIGITS}, 2*{DIGITS}::bigint",
    f"SELECT DATE '2020-01-01', INTERVAL '{DIGITS} seconds', '{WORD}'::text",
    f"SELECT CAST('{WORD}' AS varchar(99))",
    f"SELECT '{{\"a\": \"{WORD}\"}}'::jsonb ->> '{WORD}'",
    f"SELECT '{{\"{WORD}\": 1}}'::jsonb ? '{WORD}'",
    f"SELECT 1 WHERE 'a' IN ('{WORD}', 'b')",
    f"SELECT 1 WHERE 'a' LIKE '%{WORD}%' ESCAPE '!'",
    f"SELECT ARRAY['{WORD}', 'b'], ROW({DIGITS}, '{WORD}')",
    f"SELECT 1 -- {WORD}",
    f"SELECT 1 -- it's {WORD}\n, 'x'",
    f"SELECT 1 -- it's\r, '{WORD}' --'",
    f"SELECT /* {WORD} */ 1",
    f"SELECT /* /* ' */ {WORD} */ 1",
    f"/* {WORD} */ SELECT 1",
    f"SELECT 1 AS a$a$, '{WORD}' AS b$a$",
    f"SELECT 1 AS \"it's\", '{WORD}' AS \"it's\"",
    f"SELECT 1 AS U&\"it's\", '{WORD}'",
    f"SELECT set_config('app.secret', '{WORD}', true)",
    f'SELECT * FROM json_each(\'{{"a": "{WORD}"}}\')',
    f"SELECT extract(year FROM DATE '2020-01-01'), substring('{WORD}' FROM 2)",
    f"SELECT 1 UNION SELECT {DIGITS}",
    f"WITH a AS (SELECT '{WORD}' AS b) SELECT * FROM a",
    f"VALUES ('{WORD}', 1), ('b', {DIGITS})",
    f"INSERT INTO t VALUES ({DIGITS}, '{WORD}')",
    f"UPDATE t SET v = '{WORD}' WHERE id = {DIGITS}",
    f"DELETE FROM t WHERE v = '{WORD}'",
    f"MERGE INTO t USING (SELECT {DIGITS} AS i) s ON t.id = s.i WHEN NOT MATCHED THEN INSERT VALUES (s.i, '{WORD}')",
    f"CREATE TABLE u (a text DEFAULT '{WORD}' CHECK (a <> '{WORD}'))",
    f"CREATE VIEW w AS SELECT '{WORD}' AS a",
    f"ALTER TABLE t ALTER v SET DEFAULT '{WORD}'",
    f"COMMENT ON TABLE t IS '{WORD}'",
    f"SET app.secret = '{WORD}'",
    f"SET LOCAL app.secret TO {WORD}",
    f'SET SESSION app.secret = "{WORD}"',
    f"SET application_name = {WORD}, {WORD}"[: -len(WORD) - 2],
    f"CREATE ROLE zq_role LOGIN PASSWORD '{WORD}'",
    f"CREATE ROLE zq_role; ALTER ROLE zq_role WITH PASSWORD '{WORD}'",
    f"CREATE USER zq_user ENCRYPTED PASSWORD '{WORD}' VALID UNTIL '2099-01-01'",
    f"CREATE ROLE zq_role; ALTER ROLE zq_role SET app.secret TO {WORD}",
    f"DO $$ BEGIN PERFORM '{WORD}'; END $$",
    f"DO LANGUAGE plpgsql $x$ BEGIN PERFORM '{WORD}'; END $x$",
    f"CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $f$ SELECT '{WORD}' $f$",
    f"CREATE FUNCTION f() RETURNS text LANGUAGE sql SET app.secret TO {WORD} RETURN '{WORD}'",
    f"CREATE FUNCTION f() RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT '{WORD}'; END",
    f"PREPARE zq_o AS SELECT $1::text, '{WORD}'",
    f"PREPARE zq_p (text) AS SELECT $1; EXECUTE zq_p('{WORD}'); DEALLOCATE zq_p",
    f"SELECT 1; SELECT '{WORD}'",
    f"EXPLAIN SELECT '{WORD}'",
    f"EXPLAIN (COSTS off) SELECT '{WORD}' FROM t WHERE id = {DIGITS}",
    f"DECLARE c CURSOR FOR SELECT '{WORD}'",
    f"NOTIFY zq_channel, '{WORD}'",
    f"COPY (SELECT '{WORD}') TO '/dev/null'",
    f"COPY t TO PROGRAM 'true {WORD}'",
    f"{SERVER} OPTIONS (host '{WORD}')",
    f"{SERVER}; CREATE USER MAPPING FOR CURRENT_USER SERVER zq_s OPTIONS (user 'a', password '{WORD}')",
    f"CREATE SUBSCRIPTION zq_n CONNECTION 'password={WORD}' PUBLICATION p WITH (connect = false, slot_name = NONE)",
    f"SELECT '{'x' * 8150}', E'{'x' * 30}\\'{WORD}'",
    f"SELECT E'{'x' * 8175}\\'{WORD}'",
    f"SELECT $q${'x' * 9000}$q$, '{WORD}'",
    f"SELECT 'x', {', '.join([DIGITS] * 1200)}",
)
# What it refuses, with or without arguments: the text is on a span all the same.
REFUSED = (
    (f"SHOW '{WORD}'", ()),
    (f"SELECT * FROM '{WORD}'", ()),
    (f"SELECT '{WORD}", ()),
    (f"SELECT E'{WORD}\\'", ()),
    (f"SELECT $a$ {WORD}", ()),
    (f"SELECT /* {WORD}", ()),
    (f'SELECT "{WORD}', ()),
    (f"SELECT $1, '{WORD}'", ()),
    (f"ALTER SYSTEM SET app.secret = {WORD}", ()),
    (f"SELECT $1::int; ALTER ROLE a PASSWORD '{WORD}'", (1,)),
    (f"PREPARE zq_p AS SELECT $1, '{WORD}'; EXECUTE zq_p('{WORD}')", (1,)),
    (f"ALTER ROLE a PASSWORD '{WORD}'", (1,)),
    (f"SET app.secret = '{WORD}'", (1,)),
    (f"DO $$ BEGIN PERFORM '{WORD}'; END $$", (1,)),
    (f"COPY t FROM '/{WORD}'", (1,)),
)
HIDDEN = (WORD, DIGITS, f"{DIGITS[:4]}_{DIGITS[4:]}", BITS)


def resident():
    """The memory of this process in bytes."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def rolled_back(connection, text, args=()):
    """Execute a text, and undo it."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(text, *args)
    finally:
        await transaction.rollback()


def leaked(seen):
    """What is in the spans, but for events, and in the metrics: as objects and as the bytes that are sent."""
    spans = seen.spans()
    for span in spans:
        span._events = ()
    data = seen._reader.get_metrics_data()
    sent = encode_spans(spans).SerializeToString() + (encode_metrics(data).SerializeToString() if data else b"")
    told = [str((span.name, dict(span.attributes), span.status.description)) for span in spans] + [str(data)]
    return [hidden for hidden in HIDDEN if hidden.encode() in sent or any(hidden in each for each in told)]


def test_there_are_enough_of_them():
    """What is promised."""
    assert len(TAKEN) + len(REFUSED) >= 60


@pytest.mark.parametrize("standard", ["on", "off"])
def test_no_secret_leaves(wrap, run, standard):
    """Whatever the statement, and however the server reads a backslash."""
    seen = wrap()
    found = {}
    refused = {}

    async def main(connection):
        await connection.execute("CREATE TEMP TABLE t (id int PRIMARY KEY, v text)")
        await connection.execute(f"SET standard_conforming_strings = {standard}; SET escape_string_warning = off")
        for text in TAKEN:
            try:
                await rolled_back(connection, text)
            except asyncpg.PostgresError as error:
                refused[text[:200]] = error
            found[text] = leaked(seen)
        for text, args in REFUSED:
            with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
                await rolled_back(connection, text, args)
            found[text] = leaked(seen)

    run(main)

    assert {text[:200]: hidden for text, hidden in found.items() if hidden} == {}
    # Some are not valid where a backslash in a plain string is an escape.
    assert refused == {} or standard == "off"


def test_a_prepared_statements_arguments_are_not_seen_when_it_is_prepared(wrap, run):
    """Its text has a literal that may leave when arguments are passed, and not before, nor where it takes none."""
    seen = wrap()

    async def main(connection):
        await (await connection.prepare(f"SELECT '{WORD}'")).fetch()
        await connection.prepare(f"SELECT '{WORD}', $1::int")
        async with connection.transaction():
            await connection.fetch(f"SELECT '{WORD}'")
            async for _ in connection.cursor(f"SELECT '{WORD}'"):
                pass
            await connection.executemany(f"SELECT '{WORD}'", [()])

    run(main)
    assert leaked(seen) == []


def test_with_arguments_the_text_is_left_as_it_is(wrap, run):
    """As the conventions have it, by whatever way the arguments are passed."""
    seen = wrap()
    text = f"SELECT '{WORD}', $1::int"

    async def main(connection):
        statement = await connection.prepare(text)
        seen.spans()
        await connection.fetch(text, 1)
        await statement.fetch(1)
        await connection.executemany(text, [(1,), (2,)])
        await statement.executemany([(1,)])
        async with connection.transaction():
            async for _ in connection.cursor(text, 1):
                pass

    run(main)

    texts = [span.attributes["db.query.text"] for span in seen.spans() if "SELECT" in span.name]
    assert texts == [text] * len(texts)
    assert len(texts) >= 5


@pytest.mark.skipif(not STATM.exists(), reason="the memory of a process is read as Linux tells it")
@pytest.mark.parametrize("with_arguments", [False, True])
def test_large_texts_leave_nothing(wrap, run, with_arguments):
    """Statements of a megabyte, each another one."""
    seen = wrap()
    sizes = []

    async def main(connection):
        for number in range(COUNT):
            text = f"SELECT length('{number}{'x' * (1 << 20)}')"
            await (connection.fetchval(f"{text} + $1", 1) if with_arguments else connection.execute(text))
            seen.spans()
            if number in {COUNT // 10, COUNT - 1}:
                gc.collect()
                sizes.append(resident())

    run(main, statement_cache_size=0)

    before, after = sizes
    assert after - before < 10 << 20


def test_many_texts_leave_no_more_than_is_kept(wrap, run):
    """However many, and of whatever size."""
    wrap()
    plans = []

    async def main(connection):
        for number in range(3000):
            await connection.execute(f"SELECT {number}, '{'x' * (number % 4000)}'")
        plans.append(connection._protocol._otel_fastpath.queries)

    run(main)

    assert 0 < len(plans[0]) < 2048
    assert sum(map(sys.getsizeof, plans[0])) < 4 << 20
