"""The example of asyncpg prints what docs/asyncpg.md says."""


def test_the_example_prints_its_spans(output_of, database_url):
    """One line for each: a cursor's for each round trip, a literal left out, no reset of the pool."""
    output = output_of("asyncpg_queries", timeout=60, DATABASE_URL=database_url)

    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert lines == [
        "CONNECT",
        "CREATE TABLE items CREATE TEMP TABLE items (id int PRIMARY KEY, name text)",
        "BATCH INSERT items INSERT INTO items VALUES ($1, $2)",
        "BEGIN BEGIN;",
        "SELECT items SELECT * FROM items ORDER BY id",
        "SELECT items SELECT * FROM items ORDER BY id",
        "COMMIT COMMIT;",
        "SELECT items SELECT name FROM items WHERE name = ?",
    ]
