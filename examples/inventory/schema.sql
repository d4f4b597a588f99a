-- Run at every start, by any number of processes at once: the lock lets one of them do the work.
SELECT pg_advisory_xact_lock(20270);
CREATE TABLE IF NOT EXISTS inventory (
    player integer NOT NULL,
    item text NOT NULL,
    amount integer NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (player, item)
);
CREATE TABLE IF NOT EXISTS grants (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    player integer NOT NULL,
    item text NOT NULL,
    amount integer NOT NULL
);
INSERT INTO inventory (player, item, amount)
SELECT player, item, 1 FROM generate_series(1, 500) AS player, unnest(ARRAY['sword', 'shield', 'potion', 'map']) AS item
ON CONFLICT DO NOTHING;
