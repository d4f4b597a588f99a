-- Run at every start, by any number of processes at once: the lock lets one of them do the work.
SELECT pg_advisory_xact_lock(20269);
CREATE TABLE IF NOT EXISTS items (
    id integer PRIMARY KEY,
    category text NOT NULL,
    name text NOT NULL,
    price numeric(10, 2) NOT NULL,
    views bigint NOT NULL DEFAULT 0
);
INSERT INTO items (id, category, name, price)
SELECT n, (ARRAY['lamp', 'chair', 'table', 'shelf'])[1 + n % 4], 'item ' || n, 5 + n % 90
FROM generate_series(1, 400) AS n
ON CONFLICT DO NOTHING;
CREATE INDEX IF NOT EXISTS items_category ON items (category);
