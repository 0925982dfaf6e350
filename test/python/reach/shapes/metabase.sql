-- A question builder: the joined rows as a nested "source", breakouts in order, and a row limit of the tool itself.

-- shape: breakout by a foreign entity and its names
-- wide: yes
SELECT "source"."Customers__id" AS "Customers__id", "source"."Customers__name" AS "Customers__name",
       "source"."Customers__email" AS "Customers__email", SUM("source"."price") AS "sum"
FROM (
  SELECT order_items.order_id AS order_id, order_items.price AS price, "Customers".id AS "Customers__id",
         "Customers".name AS "Customers__name", "Customers".email AS "Customers__email"
  FROM order_items
  LEFT JOIN orders AS "Orders" ON order_items.order_id = "Orders".id
  LEFT JOIN customers AS "Customers" ON "Orders".customer_id = "Customers".id) AS "source"
GROUP BY "source"."Customers__id", "source"."Customers__name", "source"."Customers__email"
ORDER BY "sum" DESC, "source"."Customers__id" ASC
LIMIT 1048575;

-- shape: breakouts in their own order
-- wide: yes
SELECT "Products".id AS "Products__id", "Products".name AS "Products__name", "Products".description AS "Products__description",
       COUNT(*) AS "count"
FROM order_items
LEFT JOIN products AS "Products" ON order_items.product_id = "Products".id
GROUP BY "Products".id, "Products".name, "Products".description
ORDER BY "Products".id ASC, "Products".name ASC, "Products".description ASC
LIMIT 1048575;

-- shape: a summary filtered afterwards
-- wide: yes
SELECT "source".* FROM (
  SELECT c.id AS id, c.name AS name, c.address AS address, COUNT(*) AS "count", SUM(t.minutes_open) AS "sum"
  FROM tickets t INNER JOIN customers c ON t.customer_id = c.id
  GROUP BY c.id, c.name, c.address) AS "source"
WHERE "source"."count" > 6
LIMIT 1048575;

-- shape: top rows of a summary, ten shown
-- wide: yes
SELECT a.id AS id, a.name AS name, a.email AS email, a.biography AS biography, AVG(t.minutes_open) AS "avg"
FROM tickets t INNER JOIN agents a ON t.agent_id = a.id
GROUP BY a.id, a.name, a.email, a.biography
ORDER BY "avg" DESC, a.id ASC
LIMIT 10;

-- shape: rows of joined tables, most expensive first
-- wide: yes
SELECT i.order_id, i.line_number, i.price, i.gift_text, o.note, o.status, "Customers".name AS "Customers__name",
       "Customers".address AS "Customers__address"
FROM order_items i
INNER JOIN orders o ON i.order_id = o.id
INNER JOIN customers AS "Customers" ON o.customer_id = "Customers".id
ORDER BY i.price DESC, i.order_id, i.line_number
LIMIT 2000;

-- shape: distinct entities of a filter's drop-down
-- wide: yes
SELECT DISTINCT c.id, c.name, c.email FROM customers c INNER JOIN orders o ON o.customer_id = c.id
WHERE o.status = 'returned' ORDER BY c.id LIMIT 1000;

-- shape: one measure by segment
-- wide: no
SELECT c.segment AS segment, SUM(i.price) AS "sum"
FROM order_items i INNER JOIN orders o ON i.order_id = o.id INNER JOIN customers c ON o.customer_id = c.id
GROUP BY c.segment ORDER BY c.segment ASC LIMIT 1048575;

-- shape: cumulative count by entity
-- wide: yes
SELECT s.id AS id, s.name AS name, s.address AS address, SUM(COUNT(*)) OVER (ORDER BY s.id ROWS UNBOUNDED PRECEDING) AS "count"
FROM orders o INNER JOIN stores s ON o.store_id = s.id
GROUP BY s.id, s.name, s.address ORDER BY s.id ASC;

-- shape: a native question with limit and offset of a page
-- wide: yes
SELECT c.id, c.name, c.comment, COUNT(*) AS n, MAX(e.happened_at) AS last_seen
FROM events e JOIN customers c ON e.customer_id = c.id
GROUP BY c.id, c.name, c.comment ORDER BY n DESC, last_seen DESC, c.id LIMIT 100 OFFSET 200;
