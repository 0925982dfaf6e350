-- A modelling layer: an explore of LEFT JOINs from the facts outwards, all fields grouped by position, a row limit.

-- shape: customer table, first measure descending
-- wide: yes
SELECT customers.id AS "customers.id", customers.name AS "customers.name", customers.email AS "customers.email",
       COALESCE(SUM(order_items.price * order_items.quantity), 0) AS "order_items.total_revenue"
FROM order_items AS order_items
LEFT JOIN orders AS orders ON order_items.order_id = orders.id
LEFT JOIN customers AS customers ON orders.customer_id = customers.id
GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 500;

-- shape: product table over two dimensions
-- wide: yes
SELECT products.id AS "products.id", products.name AS "products.name", products.description AS "products.description",
       categories.name AS "categories.name", COUNT(*) AS "order_items.count",
       COALESCE(SUM(order_items.price), 0) AS "order_items.total_price"
FROM order_items
LEFT JOIN products ON order_items.product_id = products.id
LEFT JOIN categories ON products.category_id = categories.id
GROUP BY 1, 2, 3, 4 ORDER BY 6 DESC, 1 LIMIT 500;

-- shape: distinct count of orders by customer, filtered by a date
-- wide: yes
SELECT customers.id AS "customers.id", customers.name AS "customers.name", customers.address AS "customers.address",
       COUNT(DISTINCT orders.id) AS "orders.count"
FROM orders
LEFT JOIN customers ON orders.customer_id = customers.id
WHERE orders.ordered_at >= TIMESTAMP '2023-03-01'
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1 LIMIT 500;

-- shape: a measure filter becomes HAVING
-- wide: yes
SELECT customers.id AS "customers.id", customers.name AS "customers.name", customers.comment AS "customers.comment",
       COALESCE(SUM(order_items.price), 0) AS "order_items.total_price"
FROM order_items
LEFT JOIN orders ON order_items.order_id = orders.id
LEFT JOIN customers ON orders.customer_id = customers.id
GROUP BY 1, 2, 3 HAVING COALESCE(SUM(order_items.price), 0) > 100000000 ORDER BY 4 DESC LIMIT 500;

-- shape: sorted by a dimension's name
-- wide: yes
SELECT products.id AS "products.id", products.name AS "products.name", products.description AS "products.description",
       COALESCE(SUM(order_items.quantity), 0) AS "order_items.units"
FROM order_items
LEFT JOIN products ON order_items.product_id = products.id
GROUP BY 1, 2, 3 ORDER BY 2, 1 LIMIT 500;

-- shape: inner join of a required dimension
-- wide: yes
SELECT stores.id AS "stores.id", stores.name AS "stores.name", stores.address AS "stores.address",
       stores.manager AS "stores.manager", COALESCE(SUM(order_items.price), 0) AS "order_items.total_price"
FROM order_items
INNER JOIN orders ON order_items.order_id = orders.id
INNER JOIN stores ON orders.store_id = stores.id
GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC LIMIT 50;

-- shape: by month alone
-- wide: no
SELECT strftime(orders.ordered_at, '%Y-%m') AS "orders.month", COALESCE(SUM(order_items.price), 0) AS "order_items.total_price"
FROM order_items
LEFT JOIN orders ON order_items.order_id = orders.id
GROUP BY 1 ORDER BY 1 DESC LIMIT 500;

-- shape: customer by month
-- wide: yes
SELECT customers.id AS "customers.id", customers.name AS "customers.name", customers.email AS "customers.email",
       date_trunc('month', orders.ordered_at) AS "orders.month", COALESCE(SUM(order_items.price), 0) AS "order_items.total_price"
FROM order_items
LEFT JOIN orders ON order_items.order_id = orders.id
LEFT JOIN customers ON orders.customer_id = customers.id
GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 4 LIMIT 500;

-- shape: pivoted rows ranked by the row total
-- wide: yes
SELECT * FROM (
  SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) AS z___pivot_row_rank FROM (
    SELECT *, MIN(z___rank) OVER (PARTITION BY "customers.id") AS z___min_rank FROM (
      SELECT *, RANK() OVER (ORDER BY "order_items.total_price" DESC, "customers.id") AS z___rank FROM (
        SELECT customers.id AS "customers.id", customers.name AS "customers.name", customers.email AS "customers.email",
               orders.status AS "orders.status", COALESCE(SUM(order_items.price), 0) AS "order_items.total_price"
        FROM order_items
        LEFT JOIN orders ON order_items.order_id = orders.id
        LEFT JOIN customers ON orders.customer_id = customers.id
        GROUP BY 1, 2, 3, 4) ww) bb) aa) xx
WHERE z___pivot_row_rank <= 100 ORDER BY z___pivot_row_rank, "orders.status";

-- shape: a derived table joined to the explore
-- wide: yes
WITH customer_facts AS (
  SELECT orders.customer_id AS customer_id, COUNT(*) AS lifetime_orders FROM orders GROUP BY 1)
SELECT customers.id AS "customers.id", customers.name AS "customers.name", customers.comment AS "customers.comment",
       customer_facts.lifetime_orders AS "customer_facts.lifetime_orders", COUNT(*) AS "tickets.count"
FROM tickets
INNER JOIN customers ON tickets.customer_id = customers.id
LEFT JOIN customer_facts ON customers.id = customer_facts.customer_id
GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1 LIMIT 500;
