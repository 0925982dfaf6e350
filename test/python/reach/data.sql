-- The shop that the shapes ask about: 100,000 sold items, dimensions with wide columns, and events.
-- Amounts come from a hash, so that no two sums a report sorts by are equal.
CREATE TABLE regions AS
SELECT i AS id, 'Region ' || i AS name, repeat('r', 40) || i AS description FROM range(12) r(i);

CREATE TABLE customers AS
SELECT i AS id, 'Customer ' || lpad(i::VARCHAR, 6, '0') AS name, 'c' || i || '@example.org' AS email,
       (i * 37 % 900) || ' Main Street, Town ' || (i % 211) AS address, ['retail', 'business', 'school'][i % 3 + 1] AS segment,
       repeat('note ', 6) || i AS comment, i % 12 AS region_id, DATE '2019-01-01' + (i % 1500)::INTEGER AS signed_up
FROM range(3000) r(i);

CREATE TABLE stores AS
SELECT i AS id, 'Store ' || i AS name, 'Square ' || (i * 13 % 97) AS address, 'Manager ' || (i % 29) AS manager,
       i % 12 AS region_id FROM range(60) r(i);

CREATE TABLE categories AS
SELECT i AS id, 'Category ' || i AS name, repeat('c', 50) || i AS description FROM range(25) r(i);

CREATE TABLE products AS
SELECT i AS id, 'SKU-' || lpad(i::VARCHAR, 5, '0') AS sku, 'Product ' || i AS name, repeat('d', 60) || i AS description,
       'Brand ' || (i % 40) AS brand, i % 25 AS category_id, (hash(i) % 9000 / 100)::DECIMAL(9, 2) AS list_price
FROM range(2000) r(i);

CREATE TABLE orders AS
SELECT i AS id, i * 7919 % 2900 AS customer_id, i % 60 AS store_id, TIMESTAMP '2023-01-01' + to_minutes(i * 25) AS ordered_at,
       ['placed', 'shipped', 'returned', 'completed'][i % 4 + 1] AS status, 'order note ' || i AS note
FROM range(25000) r(i);

CREATE TABLE order_items AS
SELECT i // 4 AS order_id, i % 4 AS line_number, (hash(i) % 1900)::BIGINT AS product_id, (hash(i + 7) % 9 + 1)::INTEGER AS quantity,
       ((hash(i + 13) % 1000000007)::BIGINT / 100)::DECIMAL(18, 2) AS price, 'gift text ' || i AS gift_text
FROM range(100000) r(i);

CREATE TABLE events AS
SELECT i AS id, i * 31 % 3000 AS customer_id, TIMESTAMP '2023-01-01' + to_seconds(i * 211) AS happened_at,
       ['view', 'click', 'search', 'purchase'][(hash(i) % 4 + 1)::BIGINT] AS kind, '/page/' || (i % 500) AS path FROM range(60000) r(i);

CREATE TABLE tickets AS
SELECT i AS id, i * 17 % 3000 AS customer_id, 'Subject of ' || i AS subject, repeat('text ', 10) || i AS body,
       i % 40 AS agent_id, TIMESTAMP '2023-06-01' + to_minutes(i * 40) AS opened_at, (hash(i) % 100003)::BIGINT AS minutes_open
FROM range(20000) r(i);

CREATE TABLE agents AS
SELECT i AS id, 'Agent ' || i AS name, 'a' || i || '@example.org' AS email, repeat('b', 60) || i AS biography
FROM range(40) r(i);

-- What a loader delivers: several versions of a customer.
CREATE TABLE customer_versions AS
SELECT i % 3000 AS customer_id, i AS version, 'Customer ' || (i % 3000) AS name, repeat('v', 50) || i AS payload,
       TIMESTAMP '2024-01-01' + to_minutes(i) AS loaded_at FROM range(12000) r(i);
