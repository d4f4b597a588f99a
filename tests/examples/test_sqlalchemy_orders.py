"""The example of SQLAlchemy prints its spans."""


def test_the_example_prints_its_spans(output_of):
    """One line for each: a batch for a flush, no checkout, a literal left out."""
    output = output_of("sqlalchemy_orders", timeout=60)

    lines = [" ".join(line.split()) for line in output.splitlines()]
    assert lines == [
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
    ]
