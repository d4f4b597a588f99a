"""The example of docs/cassandra.md prints a line for each span."""


def test_the_example_prints_its_spans(output_of, simulacron):
    """No value is in a text."""
    port = simulacron.cluster().ports[0]
    output = output_of("cassandra_users", CASSANDRA_PORT=str(port))

    lines = [" ".join(line.split()) for line in output.splitlines()]
    insert = "INSERT INTO users (id, name) VALUES (?, ?)"
    assert lines == [
        "CONNECT",
        "CREATE KEYSPACE shop local_one CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {?: ?, ?: ?}",
        "USE local_one USE shop",
        "CREATE TABLE users local_one CREATE TABLE IF NOT EXISTS users (id text PRIMARY KEY, name text)",
        f"PREPARE INSERT users {insert}",
        f"INSERT users local_one {insert}",
        "SELECT users local_one SELECT name FROM users WHERE id = ?",
        f"BATCH INSERT users local_one {insert}",
        *[f"INSERT users local_one {insert}"] * 3,
        "DELETE users local_one DELETE FROM users WHERE id = %s",
    ]
