"""The shapes in which reports are written, over TPC-H, and what one would write by hand in their place.

Wide reports carry columns that a key determines through joins and an aggregate. By hand one groups by the key, and
fetches the columns afterwards. Queries that DuckDB alone does well (two narrow tables, one table, a selective filter on
a dimension) are here too: nothing may be lost there.
"""

from dataclasses import dataclass

SALES = """customer JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey
    JOIN nation ON c_nationkey = n_nationkey"""
NARROW_SALES = "orders JOIN lineitem ON l_orderkey = o_orderkey"
REVENUE = "sum(l_extendedprice * (1 - l_discount)) AS revenue"
CUSTOMER = "c_custkey, c_name, c_address, c_phone, c_acctbal, c_comment"
FETCHED = "JOIN customer ON c_custkey = o_custkey JOIN nation ON c_nationkey = n_nationkey"
BY_CUSTOMER = f"SELECT o_custkey, {REVENUE} FROM {NARROW_SALES} GROUP BY o_custkey"
#: All columns of a line, its order and its customer.
DETAILS = "lineitem JOIN orders ON l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey"
LATEST = "PARTITION BY l_suppkey ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber"


@dataclass(frozen=True)
class Shape:
    name: str
    query: str
    by_hand: str
    ordered: bool = True

    @staticmethod
    def measured(query: str) -> str:
        """The query as a statement that keeps its rows, many as they may be."""
        return f"CREATE TEMP TABLE result AS {query}"

    def check(self) -> str:
        """A query that tells the rows kept, in few."""
        if self.ordered:
            return "SELECT count(*), md5(string_agg(hash(r)::VARCHAR, ',' ORDER BY r.rowid)) FROM result AS r"
        return "SELECT count(*), bit_xor(hash(r)), sum(hash(r)) FROM result AS r"


def best_customers(bound: int) -> Shape:
    return Shape(
        f"limit {bound}",
        f"""SELECT {CUSTOMER}, n_name, {REVENUE} FROM {SALES} GROUP BY {CUSTOMER}, n_name
            ORDER BY revenue DESC, c_custkey LIMIT {bound}""",
        f"""WITH narrow AS ({BY_CUSTOMER} ORDER BY revenue DESC, o_custkey LIMIT {bound})
            SELECT {CUSTOMER}, n_name, revenue FROM narrow {FETCHED} ORDER BY revenue DESC, c_custkey""",
    )


SHAPES = (
    Shape(
        "no limit",
        f"SELECT {CUSTOMER}, n_name, {REVENUE} FROM {SALES} GROUP BY {CUSTOMER}, n_name",
        f"WITH narrow AS ({BY_CUSTOMER}) SELECT {CUSTOMER}, n_name, revenue FROM narrow {FETCHED}",
        ordered=False,
    ),
    Shape(
        "no limit, sorted",
        f"""SELECT {CUSTOMER}, n_name, {REVENUE} FROM {SALES} GROUP BY {CUSTOMER}, n_name
            ORDER BY revenue DESC, c_custkey""",
        f"""WITH narrow AS ({BY_CUSTOMER}) SELECT {CUSTOMER}, n_name, revenue FROM narrow {FETCHED}
            ORDER BY revenue DESC, c_custkey""",
    ),
    Shape(
        "no limit, customer and month",
        f"""SELECT {CUSTOMER}, date_trunc('month', o_orderdate) AS month, {REVENUE} FROM {SALES}
            GROUP BY {CUSTOMER}, month""",
        f"""WITH narrow AS (SELECT o_custkey, date_trunc('month', o_orderdate) AS month, {REVENUE} FROM {NARROW_SALES}
            GROUP BY o_custkey, month)
            SELECT {CUSTOMER}, month, revenue FROM narrow JOIN customer ON c_custkey = o_custkey""",
        ordered=False,
    ),
    Shape(
        "no limit, part and supplier",
        f"""SELECT p_partkey, p_name, p_comment, s_suppkey, s_name, s_address, {REVENUE} FROM lineitem
            JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey GROUP BY ALL""",
        f"""WITH narrow AS (SELECT l_partkey, l_suppkey, {REVENUE} FROM lineitem GROUP BY ALL)
            SELECT p_partkey, p_name, p_comment, s_suppkey, s_name, s_address, revenue FROM narrow
            JOIN part ON l_partkey = p_partkey JOIN supplier ON l_suppkey = s_suppkey""",
        ordered=False,
    ),
    Shape(
        "no limit, two narrow tables",
        "SELECT c_custkey, c_mktsegment, count(*) AS n FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY ALL",
        """WITH narrow AS (SELECT o_custkey, count(*) AS n FROM orders GROUP BY ALL)
           SELECT c_custkey, c_mktsegment, n FROM narrow JOIN customer ON c_custkey = o_custkey""",
        ordered=False,
    ),
    Shape(
        "having",
        """SELECT c_name, c_custkey, c_comment, o_orderkey, o_orderdate, o_totalprice, o_comment,
           sum(l_quantity) AS quantity FROM customer JOIN orders ON c_custkey = o_custkey
           JOIN lineitem ON l_orderkey = o_orderkey GROUP BY ALL HAVING sum(l_quantity) > 300""",
        """WITH narrow AS (SELECT l_orderkey, sum(l_quantity) AS quantity FROM lineitem GROUP BY ALL
           HAVING sum(l_quantity) > 300)
           SELECT c_name, c_custkey, c_comment, o_orderkey, o_orderdate, o_totalprice, o_comment, quantity
           FROM narrow JOIN orders ON l_orderkey = o_orderkey JOIN customer ON c_custkey = o_custkey""",
        ordered=False,
    ),
    best_customers(20),
    best_customers(50000),
    Shape(
        "left join",
        f"""SELECT {CUSTOMER}, n_name, {REVENUE} FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey
            LEFT JOIN customer ON o_custkey = c_custkey LEFT JOIN nation ON c_nationkey = n_nationkey
            GROUP BY {CUSTOMER}, n_name ORDER BY revenue DESC, c_custkey LIMIT 500""",
        f"""WITH narrow AS (SELECT o_custkey, {REVENUE} FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey
            GROUP BY o_custkey ORDER BY revenue DESC, o_custkey LIMIT 500)
            SELECT {CUSTOMER}, n_name, revenue FROM narrow LEFT JOIN customer ON o_custkey = c_custkey
            LEFT JOIN nation ON c_nationkey = n_nationkey ORDER BY revenue DESC, c_custkey""",
    ),
    Shape(
        "left join, two tables",
        """SELECT c_custkey, c_name, count(*) AS n FROM orders LEFT JOIN customer ON o_custkey = c_custkey
           GROUP BY ALL ORDER BY n DESC, c_custkey LIMIT 500""",
        """WITH narrow AS (SELECT o_custkey, count(*) AS n FROM orders GROUP BY ALL
           ORDER BY n DESC, o_custkey LIMIT 500)
           SELECT c_custkey, c_name, n FROM narrow LEFT JOIN customer ON o_custkey = c_custkey
           ORDER BY n DESC, c_custkey""",
    ),
    Shape(
        "rank in a month",
        f"""WITH monthly AS (SELECT date_trunc('month', o_orderdate) AS month, {CUSTOMER}, {REVENUE} FROM {SALES}
            GROUP BY ALL),
            ranked AS (SELECT *, row_number() OVER (PARTITION BY month ORDER BY revenue DESC, c_custkey) AS place
            FROM monthly)
            SELECT * FROM ranked WHERE place <= 3 ORDER BY month, place""",
        f"""WITH monthly AS (SELECT date_trunc('month', o_orderdate) AS month, o_custkey, {REVENUE} FROM {NARROW_SALES}
            GROUP BY ALL),
            ranked AS (SELECT *, row_number() OVER (PARTITION BY month ORDER BY revenue DESC, o_custkey) AS place
            FROM monthly QUALIFY place <= 3)
            SELECT month, {CUSTOMER}, revenue, place FROM ranked JOIN customer ON c_custkey = o_custkey
            ORDER BY month, place""",
    ),
    Shape(
        "share of the total",
        f"""SELECT {CUSTOMER}, {REVENUE}, sum(sum(l_extendedprice * (1 - l_discount))) OVER () AS total FROM {SALES}
            GROUP BY {CUSTOMER} ORDER BY revenue DESC, c_custkey LIMIT 100""",
        f"""WITH narrow AS (SELECT *, sum(revenue) OVER () AS total FROM ({BY_CUSTOMER})
            ORDER BY revenue DESC, o_custkey LIMIT 100)
            SELECT {CUSTOMER}, revenue, total FROM narrow JOIN customer ON c_custkey = o_custkey
            ORDER BY revenue DESC, c_custkey""",
    ),
    Shape(
        "aggregate joined again",
        f"""WITH wide AS (SELECT {CUSTOMER}, c_nationkey, {REVENUE} FROM customer
            JOIN orders ON c_custkey = o_custkey JOIN lineitem ON l_orderkey = o_orderkey GROUP BY ALL)
            SELECT wide.*, n_name FROM wide JOIN nation ON c_nationkey = n_nationkey
            ORDER BY revenue DESC, c_custkey LIMIT 100""",
        f"""WITH narrow AS ({BY_CUSTOMER} ORDER BY revenue DESC, o_custkey LIMIT 100)
            SELECT {CUSTOMER}, c_nationkey, revenue, n_name FROM narrow {FETCHED} ORDER BY revenue DESC, c_custkey""",
    ),
    Shape(
        "order by name",
        f"""SELECT {CUSTOMER}, n_name, {REVENUE} FROM {SALES} GROUP BY {CUSTOMER}, n_name
            ORDER BY c_name, c_custkey LIMIT 100""",
        f"""WITH narrow AS ({BY_CUSTOMER}) SELECT {CUSTOMER}, n_name, revenue FROM narrow {FETCHED}
            ORDER BY c_name, c_custkey LIMIT 100""",
    ),
    Shape(
        "rows of joins",
        f"SELECT * FROM {DETAILS} ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100",
        """WITH narrow AS (SELECT l_orderkey, l_linenumber FROM lineitem JOIN orders ON l_orderkey = o_orderkey
           JOIN customer ON o_custkey = c_custkey
           ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100)
           SELECT lineitem.*, orders.*, customer.* FROM narrow JOIN lineitem USING (l_orderkey, l_linenumber)
           JOIN orders ON lineitem.l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey
           ORDER BY l_extendedprice DESC, lineitem.l_orderkey, lineitem.l_linenumber""",
    ),
    Shape(
        "rows of joins, filtered",
        f"""SELECT * FROM {DETAILS} WHERE c_mktsegment = 'BUILDING'
            ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100""",
        """WITH narrow AS (SELECT l_orderkey, l_linenumber FROM lineitem JOIN orders ON l_orderkey = o_orderkey
           JOIN customer ON o_custkey = c_custkey WHERE c_mktsegment = 'BUILDING'
           ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100)
           SELECT lineitem.*, orders.*, customer.* FROM narrow JOIN lineitem USING (l_orderkey, l_linenumber)
           JOIN orders ON lineitem.l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey
           ORDER BY l_extendedprice DESC, lineitem.l_orderkey, lineitem.l_linenumber""",
    ),
    Shape(
        "three of each",
        f"SELECT * FROM {DETAILS} QUALIFY row_number() OVER ({LATEST}) <= 3",
        f"""WITH narrow AS (SELECT l_orderkey, l_linenumber FROM lineitem JOIN orders ON l_orderkey = o_orderkey
            JOIN customer ON o_custkey = c_custkey QUALIFY row_number() OVER ({LATEST}) <= 3)
            SELECT lineitem.*, orders.*, customer.* FROM narrow JOIN lineitem USING (l_orderkey, l_linenumber)
            JOIN orders ON lineitem.l_orderkey = o_orderkey JOIN customer ON o_custkey = c_custkey""",
        ordered=False,
    ),
    Shape(
        "distinct on",
        """SELECT DISTINCT ON (c_custkey) * FROM customer JOIN orders ON c_custkey = o_custkey
           ORDER BY c_custkey, o_orderdate DESC, o_orderkey""",
        """WITH narrow AS (SELECT DISTINCT ON (o_custkey) o_custkey, o_orderkey FROM orders
           ORDER BY o_custkey, o_orderdate DESC, o_orderkey)
           SELECT customer.*, orders.* FROM narrow JOIN orders USING (o_orderkey)
           JOIN customer ON c_custkey = narrow.o_custkey ORDER BY c_custkey""",
    ),
    Shape(
        "distinct",
        f"SELECT DISTINCT {CUSTOMER} FROM customer JOIN orders ON c_custkey = o_custkey",
        f"SELECT {CUSTOMER} FROM (SELECT DISTINCT o_custkey FROM orders) JOIN customer ON c_custkey = o_custkey",
        ordered=False,
    ),
    Shape(
        "one customer",
        f"""SELECT {CUSTOMER}, n_name, {REVENUE} FROM {SALES} WHERE c_custkey = 43
            GROUP BY {CUSTOMER}, n_name ORDER BY revenue DESC LIMIT 20""",
        f"""SELECT {CUSTOMER}, n_name, {REVENUE} FROM {SALES} WHERE c_custkey = 43
            GROUP BY {CUSTOMER}, n_name ORDER BY revenue DESC LIMIT 20""",
    ),
)
