-- What applications and their mappers of objects ask: lists of entities with counts, pages, dashboards, exports.

-- shape: entities annotated with a count
-- wide: yes
SELECT "customers"."id", "customers"."name", "customers"."email", "customers"."address", "customers"."comment",
       COUNT("orders"."id") AS "orders__count"
FROM "customers" LEFT OUTER JOIN "orders" ON ("customers"."id" = "orders"."customer_id")
GROUP BY "customers"."id", "customers"."name", "customers"."email", "customers"."address", "customers"."comment"
ORDER BY "orders__count" DESC, "customers"."id" LIMIT 25;

-- shape: the next page
-- wide: yes
SELECT "customers"."id", "customers"."name", "customers"."email", "customers"."comment", COUNT("orders"."id") AS "orders__count"
FROM "customers" LEFT OUTER JOIN "orders" ON ("customers"."id" = "orders"."customer_id")
GROUP BY "customers"."id", "customers"."name", "customers"."email", "customers"."comment"
ORDER BY "orders__count" DESC, "customers"."id" LIMIT 25 OFFSET 50;

-- shape: best sellers
-- wide: yes
SELECT p.id, p.name, p.description, p.brand, sum(i.quantity) AS sold, sum(i.quantity * i.price) AS revenue
FROM products p JOIN order_items i ON i.product_id = p.id GROUP BY p.id, p.name, p.description, p.brand
ORDER BY revenue DESC LIMIT 10;

-- shape: best sellers of a category, with its text
-- wide: yes
SELECT p.id, p.name, p.description, g.name AS category, g.description AS about, sum(i.price) AS revenue
FROM order_items i JOIN products p ON i.product_id = p.id JOIN categories g ON p.category_id = g.id
WHERE g.id = 7 GROUP BY ALL ORDER BY revenue DESC LIMIT 10;

-- shape: grouped by a second key
-- wide: yes
SELECT p.sku, p.name, p.description, sum(i.price) AS revenue
FROM order_items i JOIN products p ON i.product_id = p.id GROUP BY p.sku, p.name, p.description ORDER BY revenue DESC LIMIT 20;

-- shape: largest orders
-- wide: yes
SELECT o.id, o.note, o.ordered_at, c.id AS customer_id, c.name, c.address, sum(i.price * i.quantity) AS total
FROM orders o JOIN order_items i ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
GROUP BY o.id, o.note, o.ordered_at, c.id, c.name, c.address ORDER BY total DESC LIMIT 100;

-- shape: only the order's id is grouped beside texts of others
-- wide: yes
SELECT o.id, o.note, c.name, s.name AS store, s.address, sum(i.price) AS total
FROM orders o JOIN order_items i ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id JOIN stores s ON o.store_id = s.id
GROUP BY ALL ORDER BY total DESC, o.id LIMIT 20;

-- shape: agents by open time, any_value for their texts
-- wide: yes
SELECT a.id, any_value(a.name) AS name, any_value(a.biography) AS biography, sum(t.minutes_open) AS minutes
FROM tickets t JOIN agents a ON t.agent_id = a.id GROUP BY a.id ORDER BY minutes DESC LIMIT 10;

-- shape: leaderboard
-- wide: yes
SELECT rank() OVER (ORDER BY count(*) DESC, c.id) AS place, c.id, c.name, c.email, count(*) AS events
FROM events e JOIN customers c ON e.customer_id = c.id GROUP BY c.id, c.name, c.email ORDER BY place LIMIT 100;

-- shape: inactive customers
-- wide: no
SELECT c.id, c.name, c.email FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL ORDER BY c.id;

-- shape: search result with a count each
-- wide: yes
SELECT c.id, c.name, c.address, count(t.id) AS tickets
FROM customers c JOIN tickets t ON t.customer_id = c.id WHERE c.name LIKE '%12%' GROUP BY c.id, c.name, c.address
ORDER BY tickets DESC, c.id LIMIT 50;

-- shape: one customer's orders
-- wide: yes
SELECT o.id, o.note, o.status, sum(i.price) AS total FROM orders o JOIN order_items i ON i.order_id = o.id
WHERE o.customer_id = 42 GROUP BY o.id, o.note, o.status ORDER BY o.id LIMIT 20;

-- shape: the recent activity of a dashboard
-- wide: yes
SELECT e.happened_at, e.kind, e.path, c.name, c.email, r.name AS region
FROM events e JOIN customers c ON e.customer_id = c.id JOIN regions r ON c.region_id = r.id
ORDER BY e.happened_at DESC, e.id LIMIT 50;

-- shape: export of all customers with totals, sorted by name
-- wide: yes
SELECT c.id, c.name, c.email, c.address, c.comment, sum(i.price) AS revenue
FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_items i ON i.order_id = o.id
GROUP BY c.id, c.name, c.email, c.address, c.comment ORDER BY c.name, c.id;

-- shape: two reports in one
-- wide: yes
(SELECT 'customer' AS kind, c.id, c.name, c.comment AS text, sum(i.price) AS revenue
 FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
 GROUP BY c.id, c.name, c.comment ORDER BY revenue DESC LIMIT 10)
UNION ALL
(SELECT 'product', p.id, p.name, p.description, sum(i.price) AS revenue
 FROM order_items i JOIN products p ON i.product_id = p.id
 GROUP BY p.id, p.name, p.description ORDER BY revenue DESC LIMIT 10);

-- shape: customers who bought a brand
-- wide: yes
SELECT c.id, c.name, c.address, sum(i.price) AS revenue
FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_items i ON i.order_id = o.id
WHERE EXISTS (SELECT 1 FROM products p WHERE p.id = i.product_id AND p.brand = 'Brand 7')
GROUP BY c.id, c.name, c.address ORDER BY revenue DESC LIMIT 30;

-- shape: customers above the average
-- wide: yes
SELECT c.id, c.name, c.email, sum(i.price) AS revenue
FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_items i ON i.order_id = o.id
GROUP BY c.id, c.name, c.email
HAVING sum(i.price) > (SELECT sum(price) / 2900 FROM order_items) ORDER BY revenue DESC LIMIT 100;

-- shape: region report through the chain of keys
-- wide: yes
SELECT c.id, c.name, r.name AS region, r.description, sum(i.price) AS revenue
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id JOIN regions r ON c.region_id = r.id
GROUP BY c.id, c.name, r.name, r.description ORDER BY revenue DESC LIMIT 25;

-- shape: texts without any key
-- wide: no
SELECT c.name, c.address, sum(i.price) AS revenue
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
GROUP BY c.name, c.address ORDER BY revenue DESC LIMIT 25;

-- shape: computed texts of the entity
-- wide: yes
SELECT c.id, upper(c.name) AS name, c.name || ' <' || c.email || '>' AS address_line, sum(i.price) AS revenue
FROM order_items i JOIN orders o ON i.order_id = o.id JOIN customers c ON o.customer_id = c.id
GROUP BY c.id, upper(c.name), c.name || ' <' || c.email || '>' ORDER BY revenue DESC LIMIT 25;

-- shape: a random sample of customers
-- wide: yes
SELECT c.id, c.name, c.email, count(*) AS n FROM events e JOIN customers c ON e.customer_id = c.id
GROUP BY c.id, c.name, c.email ORDER BY hash(c.id), c.id LIMIT 20;
