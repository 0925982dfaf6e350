-- Models of a transformation project: staging, marts, snapshots without duplicates, ranks; materialised, so without LIMIT.

-- shape: fact with customer attributes
-- wide: yes
WITH stg_orders AS (SELECT id AS order_id, customer_id, ordered_at, status FROM orders),
     stg_customers AS (SELECT id AS customer_id, name AS customer_name, email, address FROM customers),
     final AS (
       SELECT stg_customers.customer_id, stg_customers.customer_name, stg_customers.email, stg_customers.address,
              count(DISTINCT stg_orders.order_id) AS orders, sum(order_items.price) AS revenue
       FROM order_items JOIN stg_orders ON order_items.order_id = stg_orders.order_id
       JOIN stg_customers ON stg_orders.customer_id = stg_customers.customer_id
       GROUP BY 1, 2, 3, 4)
SELECT * FROM final;

-- shape: narrow facts first, dimension joined afterwards
-- wide: no
WITH customer_orders AS (
  SELECT customer_id, min(ordered_at) AS first_order, max(ordered_at) AS last_order, count(*) AS orders FROM orders GROUP BY 1)
SELECT customers.id, customers.name, customers.email, customer_orders.first_order, customer_orders.last_order,
       coalesce(customer_orders.orders, 0) AS orders
FROM customers LEFT JOIN customer_orders ON customers.id = customer_orders.customer_id;

-- shape: monthly mart by customer
-- wide: yes
SELECT date_trunc('month', o.ordered_at) AS month, c.id AS customer_id, c.name, c.email, c.comment, sum(i.price) AS revenue
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
GROUP BY ALL;

-- shape: top three products of a month
-- wide: yes
WITH monthly AS (
  SELECT date_trunc('month', o.ordered_at) AS month, p.id, p.name, p.description, sum(i.price) AS revenue
  FROM order_items i JOIN orders o ON i.order_id = o.id JOIN products p ON i.product_id = p.id GROUP BY ALL),
ranked AS (SELECT *, rank() OVER (PARTITION BY month ORDER BY revenue DESC) AS place FROM monthly)
SELECT * FROM ranked WHERE place <= 3 ORDER BY month, place;

-- shape: the same by QUALIFY
-- wide: yes
SELECT s.id, s.name, s.address, date_trunc('month', o.ordered_at) AS month, sum(i.price) AS revenue
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN stores s ON o.store_id = s.id
GROUP BY 1, 2, 3, 4 QUALIFY row_number() OVER (PARTITION BY month ORDER BY revenue DESC) <= 5 ORDER BY month, revenue DESC;

-- shape: latest version of each row
-- wide: yes
SELECT * FROM customer_versions QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY version DESC) = 1;

-- shape: latest order with its customer
-- wide: yes
SELECT o.id, o.note, o.ordered_at, c.id AS customer_id, c.name, c.address
FROM orders o JOIN customers c ON o.customer_id = c.id
QUALIFY row_number() OVER (PARTITION BY c.id ORDER BY o.ordered_at DESC, o.id) = 1;

-- shape: latest ticket, DISTINCT ON
-- wide: yes
SELECT DISTINCT ON (c.id) c.id, c.name, c.address, t.subject, t.body
FROM tickets t JOIN customers c ON t.customer_id = c.id ORDER BY c.id, t.opened_at DESC, t.id;

-- shape: a dimension rebuilt from its facts
-- wide: yes
SELECT DISTINCT p.id, p.sku, p.name, p.description, p.brand FROM order_items i JOIN products p ON i.product_id = p.id;

-- shape: a snapshot's current rows aggregated
-- wide: yes
WITH current_customers AS (
  SELECT * FROM customer_versions QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY version DESC) = 1)
SELECT cc.customer_id, cc.name, cc.payload, count(*) AS orders, max(o.ordered_at) AS last_order
FROM orders o JOIN current_customers cc ON o.customer_id = cc.customer_id GROUP BY ALL;

-- shape: share of the whole
-- wide: yes
WITH revenue AS (
  SELECT c.id, c.name, c.comment, sum(i.price) AS revenue
  FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id GROUP BY ALL)
SELECT *, revenue / sum(revenue) OVER () AS share FROM revenue ORDER BY revenue DESC LIMIT 100;

-- shape: wide aggregate joined again
-- wide: yes
WITH by_customer AS (
  SELECT c.id, c.name, c.address, c.comment, c.region_id, sum(i.price) AS revenue
  FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id GROUP BY ALL)
SELECT by_customer.*, r.name AS region FROM by_customer JOIN regions r ON by_customer.region_id = r.id
ORDER BY revenue DESC LIMIT 50;

-- shape: first and last touch
-- wide: yes
SELECT c.id, c.name, c.email, min(e.happened_at) AS first_touch, max(e.happened_at) AS last_touch, count(*) AS touches
FROM events e LEFT JOIN customers c ON e.customer_id = c.id WHERE e.kind <> 'search' GROUP BY 1, 2, 3;

-- shape: surrogate key beside the natural one
-- wide: yes
SELECT md5(p.sku || '-' || s.name) AS sales_key, p.id AS product_id, p.sku, p.description, s.id AS store_id, s.name, sum(i.quantity) AS units
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN stores s ON o.store_id = s.id JOIN products p ON i.product_id = p.id
GROUP BY ALL;

-- shape: test for uniqueness
-- wide: no
SELECT id AS unique_field, count(*) AS n_records FROM orders WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1;
