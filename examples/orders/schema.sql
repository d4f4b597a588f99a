CREATE TABLE IF NOT EXISTS orders (
    id serial PRIMARY KEY,
    customer text NOT NULL,
    item text NOT NULL,
    quantity integer NOT NULL,
    price numeric(10, 2) NOT NULL
);
CREATE INDEX IF NOT EXISTS orders_customer ON orders (customer);
INSERT INTO orders (customer, item, quantity, price)
SELECT 'customer' || n % 40, (ARRAY['lamp', 'chair', 'table', 'shelf'])[1 + n % 4], 1 + n % 3, 5 + n % 90
FROM generate_series(1, 400) AS n
WHERE NOT EXISTS (SELECT FROM orders);
