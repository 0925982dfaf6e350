-- Charts and explorations over a virtual dataset, a wide SELECT written once; limits in the tens of thousands.

-- shape: table chart over a virtual dataset
-- wide: yes
SELECT id AS id, name AS name, email AS email, SUM(price) AS "SUM(price)" FROM (
  SELECT c.*, o.status, i.price FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
) AS virtual_table
GROUP BY id, name, email ORDER BY "SUM(price)" DESC LIMIT 1000;

-- shape: the same with the row limit of an export
-- wide: yes
SELECT id AS id, name AS name, comment AS comment, SUM(price) AS "SUM(price)" FROM (
  SELECT c.*, o.status, i.price FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
) AS virtual_table
WHERE status IN ('placed', 'shipped') GROUP BY id, name, comment ORDER BY "SUM(price)" DESC LIMIT 50000;

-- shape: series limit, the top entities joined again
-- wide: yes
SELECT date_trunc('week', o.ordered_at) AS week, p.id AS id, p.name AS name, p.description AS description, SUM(i.price) AS "SUM(price)"
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN products p ON i.product_id = p.id
JOIN (
  SELECT product_id AS id__, SUM(price) AS mme_inner__ FROM order_items GROUP BY product_id ORDER BY mme_inner__ DESC LIMIT 10
) AS series_limit ON p.id = id__
GROUP BY date_trunc('week', o.ordered_at), p.id, p.name, p.description ORDER BY "SUM(price)" DESC LIMIT 10000;

-- shape: percentage of the total
-- wide: yes
SELECT s.id AS id, s.name AS name, s.address AS address, SUM(i.price) AS revenue, SUM(i.price) / SUM(SUM(i.price)) OVER () AS share
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN stores s ON o.store_id = s.id
GROUP BY s.id, s.name, s.address ORDER BY revenue DESC LIMIT 20;

-- shape: bar chart by brand
-- wide: no
SELECT brand AS brand, SUM(price) AS "SUM(price)" FROM (
  SELECT p.*, i.price FROM order_items i JOIN products p ON i.product_id = p.id) AS virtual_table
GROUP BY brand ORDER BY "SUM(price)" DESC LIMIT 100;

-- shape: raw records, newest first
-- wide: yes
SELECT t.id, t.subject, t.body, c.name, c.address, a.name AS agent, t.opened_at
FROM tickets t JOIN customers c ON t.customer_id = c.id JOIN agents a ON t.agent_id = a.id
ORDER BY t.opened_at DESC, t.id LIMIT 1000;

-- shape: metrics with filters
-- wide: yes
SELECT c.id, c.name, c.address, SUM(CASE WHEN o.status = 'returned' THEN i.price ELSE 0 END) AS returned,
       COUNT(*) FILTER (WHERE o.status = 'completed') AS completed
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
GROUP BY c.id, c.name, c.address ORDER BY returned DESC, c.id LIMIT 100;

-- shape: a sample of groups, without an order
-- wide: yes
SELECT p.id, p.sku, p.description, COUNT(*) AS n FROM order_items i JOIN products p ON i.product_id = p.id
GROUP BY p.id, p.sku, p.description HAVING COUNT(*) > 60;
