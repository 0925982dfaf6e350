-- Desktop tools that compose a relation and wrap it: joins in parentheses, HAVING as a non-emptiness test, an outer TOP.

-- shape: all marks of a sheet
-- wide: yes
SELECT "customers"."id" AS "id", "customers"."name" AS "name", "customers"."address" AS "address",
       SUM("order_items"."price") AS "sum:price:ok"
FROM "order_items"
  INNER JOIN "orders" ON ("order_items"."order_id" = "orders"."id")
  INNER JOIN "customers" ON ("orders"."customer_id" = "customers"."id")
GROUP BY 1, 2, 3;

-- shape: HAVING as a test that the group is not empty
-- wide: yes
SELECT "products"."id" AS "id", "products"."name" AS "name", "products"."description" AS "description",
       SUM("order_items"."quantity") AS "sum:quantity:ok"
FROM "order_items" INNER JOIN "products" ON ("order_items"."product_id" = "products"."id")
GROUP BY 1, 2, 3 HAVING (COUNT(1) > 0);

-- shape: a top-N set joined to the sheet
-- wide: yes
SELECT "customers"."id" AS "id", "customers"."name" AS "name", "customers"."comment" AS "comment", SUM("order_items"."price") AS "sum:price:ok"
FROM "order_items"
  INNER JOIN "orders" ON ("order_items"."order_id" = "orders"."id")
  INNER JOIN "customers" ON ("orders"."customer_id" = "customers"."id")
  INNER JOIN (
    SELECT "orders"."customer_id" AS "id", COUNT(DISTINCT "orders"."id") AS "$__alias__0" FROM "orders"
    GROUP BY 1 ORDER BY 2 DESC, 1 ASC LIMIT 50) "t0" ON ("customers"."id" = "t0"."id")
GROUP BY 1, 2, 3;

-- shape: a direct query's outer bound
-- wide: yes
SELECT * FROM (
  SELECT "c"."id" AS "c1", "c"."name" AS "c2", "c"."email" AS "c3", SUM("i"."price") AS "a0"
  FROM (("order_items" AS "i" INNER JOIN "orders" AS "o" ON ("i"."order_id" = "o"."id"))
    INNER JOIN "customers" AS "c" ON ("o"."customer_id" = "c"."id"))
  GROUP BY "c"."id", "c"."name", "c"."email") AS "MainTable"
WHERE (NOT ("a0" IS NULL)) LIMIT 1000001;

-- shape: a matrix by entity and status
-- wide: yes
SELECT "s"."id" AS "c1", "s"."name" AS "c2", "s"."address" AS "c3", "o"."status" AS "c4", COUNT(*) AS "a0"
FROM "orders" AS "o" LEFT OUTER JOIN "stores" AS "s" ON ("o"."store_id" = "s"."id")
GROUP BY "s"."id", "s"."name", "s"."address", "o"."status" ORDER BY "c1", "c4" LIMIT 1000001;

-- shape: subtotals
-- wide: no
SELECT "c"."segment" AS "c1", "o"."status" AS "c2", SUM("i"."price") AS "a0"
FROM "order_items" AS "i" INNER JOIN "orders" AS "o" ON ("i"."order_id" = "o"."id")
  INNER JOIN "customers" AS "c" ON ("o"."customer_id" = "c"."id")
GROUP BY ROLLUP ("c"."segment", "o"."status") ORDER BY ALL;

-- shape: details behind a mark
-- wide: yes
SELECT "i"."gift_text", "i"."price", "o"."note", "p"."name", "p"."description"
FROM "order_items" "i" INNER JOIN "orders" "o" ON ("i"."order_id" = "o"."id")
  INNER JOIN "products" "p" ON ("i"."product_id" = "p"."id")
ORDER BY "i"."price" DESC, "i"."order_id", "i"."line_number" LIMIT 200;
