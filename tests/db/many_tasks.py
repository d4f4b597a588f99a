"""Two hundred tasks of threads that share connections: each query has its own task's span as its parent."""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor

TASKS = 200


def in_threads(seen, connections, text):
    """Run the tasks: each makes one query, whose only parameter is the number of rows that it gives."""
    tracer = seen.tracer_provider.get_tracer("test")
    free = queue.SimpleQueue()
    for connection in connections:
        free.put(connection)

    def one(task):
        number = task % 10 + 1
        with tracer.start_as_current_span(f"task {number}"):
            connection = free.get()
            cursor = connection.cursor()
            cursor.execute(text, [number])
            assert len(cursor.fetchall()) == number
            free.put(connection)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(one, range(TASKS)))


def check_parents(spans, name):
    """Each query, a span of this name, is below its own task, which is named after the number of rows."""
    tasks = {span.context.span_id: span.name for span in spans if span.name.startswith("task ")}
    queries = [span for span in spans if span.name == name]
    assert len(tasks) == len(queries) == TASKS
    for query in queries:
        assert tasks.pop(query.parent.span_id) == f"task {query.attributes['db.response.returned_rows']}"
