"""The examples of the pages print a line for each span."""

import pytest

# Example -> what it needs, and what it prints: one trace each.
TREES = {
    # From what sends through what runs to what is sent again.
    "celery_tasks": (
        ["celery"],
        "order",
        "  apply_async/shop.charge",
        "    run/shop.charge  SUCCESS",
        "  apply_async/shop.ship",
        "    run/shop.ship  RETRY",
        "      apply_async/shop.ship",
        "        run/shop.ship  SUCCESS",
    ),
    # A call that succeeds, one that fails, and a stream.
    "grpc_orders": (
        ["grpc"],
        "order  INTERNAL",
        "  /shop.Orders/Charge  CLIENT",
        "    /shop.Orders/Charge  SERVER",
        "  /shop.Orders/Charge  CLIENT  ERROR",
        "    /shop.Orders/Charge  SERVER  ERROR",
        "  /shop.Orders/Track  CLIENT",
        "    /shop.Orders/Track  SERVER",
    ),
    # Calls that succeed and one that fails, sync and async.
    "aws_calls": (
        ["moto", "aiobotocore"],
        "order",
        "  DynamoDB.CreateTable  200",
        "  DynamoDB.PutItem  200",
        "  S3.CreateBucket  200",
        "  S3.GetObject  404",
        "  SQS.CreateQueue  200",
        "  SQS.SendMessage  200",
        "  DynamoDB.GetItem  200",
    ),
}
# Likewise, of databases: their columns are not aligned here. A literal is left out.
TABLES = {
    # A cursor has one for each round trip; no reset of the pool has one.
    "asyncpg_queries": (
        ["asyncpg"],
        "CONNECT",
        "CREATE TABLE items CREATE TEMP TABLE items (id int PRIMARY KEY, name text)",
        "BATCH INSERT items INSERT INTO items VALUES ($1, $2)",
        "BEGIN BEGIN;",
        "SELECT items SELECT * FROM items ORDER BY id",
        "SELECT items SELECT * FROM items ORDER BY id",
        "COMMIT COMMIT;",
        "SELECT items SELECT name FROM items WHERE name = ?",
    ),
    # Three pages of values are one operation.
    "psycopg2_queries": (
        ["psycopg2"],
        "CONNECT",
        "CREATE TABLE items CREATE TEMP TABLE items (id int PRIMARY KEY, name text)",
        'COPY "items" COPY "items" FROM STDIN',
        "BATCH INSERT items INSERT INTO items VALUES %s",
        "UPDATE items UPDATE items SET name = ? WHERE id = ?",
        "COMMIT COMMIT",
        "SELECT items SELECT * FROM items WHERE id < %s",
        "SELECT items SELECT * FROM items WHERE id < %s",
        "COMMIT COMMIT",
    ),
    # No argument is in a text; the lock's first release finds its script missing, which is no error.
    "redis_cache": (
        ["redis"],
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
    ),
    # A batch for a flush, no checkout.
    "sqlalchemy_orders": (
        ["sqlalchemy"],
        "CONNECT",
        "CREATE TABLE orders CREATE TABLE orders ( id INTEGER NOT NULL, item VARCHAR NOT NULL, PRIMARY KEY (id) )",
        "COMMIT",
        "BATCH INSERT orders INSERT INTO orders (item) VALUES (?) RETURNING id",
        "COMMIT",
        "SELECT orders SELECT orders.id, orders.item FROM orders WHERE orders.item IN (?, ?)",
        "SELECT orders SELECT id FROM orders WHERE item = ?",
        "ROLLBACK",
        "CONNECT",
        "SELECT SELECT ?",
        "ROLLBACK",
    ),
    # The spans of a task have its span as their parent.
    "sqlite_queries": (
        ["aiosqlite"],
        "CONNECT -",
        "CREATE TABLE items - CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)",
        "BATCH INSERT items - INSERT INTO items VALUES (?, ?)",
        "UPDATE items - UPDATE items SET name = ? WHERE id = ?",
        "COMMIT - COMMIT",
        "CONNECT request",
        "SELECT request SELECT ?",
        "request -",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_a_trace_is_printed(output_of, name):
    """Each span below its parent."""
    needs, *lines = TREES[name]
    for module in needs:
        pytest.importorskip(module)

    assert output_of(name, PYTHONWARNINGS="ignore").splitlines() == lines


@pytest.mark.parametrize("name", TABLES)
def test_each_span_is_printed(request, output_of, name):
    """With the text of the query."""
    [module], *lines = TABLES[name]
    pytest.importorskip(module)
    variables = {}
    if module == "redis":
        variables["REDIS_URL"] = f"redis://127.0.0.1:{request.getfixturevalue('start_redis')().port}"
    elif module in {"asyncpg", "psycopg2"}:
        variables["DATABASE_URL"] = request.getfixturevalue("database_url")

    assert [" ".join(line.split()) for line in output_of(name, **variables).splitlines()] == lines
