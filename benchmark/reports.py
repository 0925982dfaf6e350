"""Report queries for the late materialisation benchmark, and the forms in which they are measured.

A report is a query in the layout of DuckDB's TPC-H texts: one select item, table, condition or group column per line.
It groups by a key and by columns the key determines. From it are made, by code:
  plain        as it stands
  any_value    grouped by the key, with any_value(column) for each determined column
  narrow       what one would write by hand: the top N of the key and the aggregates, joined back to the tables
"""

import re
from dataclasses import dataclass, replace

import tpch

SECTIONS = re.compile(r"^(SELECT|FROM|WHERE|GROUP BY|ORDER BY)$|^LIMIT (\d+);?$", re.MULTILINE)
PREFIXES = {"c": "customer", "l": "lineitem", "n": "nation", "o": "orders", "r": "region", "s": "supplier"}


@dataclass(frozen=True)
class Report:
    name: str
    items: list[str]
    tables: list[str]
    conditions: list[str]
    groups: list[str]
    orders: list[str]
    limit: int
    #: The columns that determine the other group columns; a column that ORDER BY names stays with them.
    key: list[str]
    #: Where the narrow form fetches the rest: (table, condition), in order; "narrow" is the narrow query.
    join_back: list[tuple[str, str]]

    def forms(self) -> dict[str, str]:
        return {"plain": self.plain(), "any_value": self.any_value(), "narrow": self.narrow()}

    def plain(self) -> str:
        return self._select(self.items, self.groups)

    def any_value(self) -> str:
        retained = self._retained()
        items = [f"any_value({i}) AS {i}" if i in self.groups and i not in retained else i for i in self.items]
        return self._select(items, retained)

    def narrow(self) -> str:
        retained = self._retained()
        aggregates = [item for item in self.items if item not in self.groups]
        inner = self._select(retained + aggregates, retained)
        names = retained + [self._name(item) for item in aggregates]
        outer = [f"narrow.{self._name(item)}" if self._name(item) in names else item for item in self.items]
        joins = "".join(f" JOIN {table} ON {condition}" for table, condition in self.join_back)
        orders = ", ".join(f"narrow.{order}" for order in self.orders)
        return f"WITH narrow AS ({inner}) SELECT {', '.join(outer)} FROM narrow{joins} ORDER BY {orders}"

    def with_columns(self, name: str, columns: list[str], **changes) -> "Report":
        """The report with these determined columns shown as well."""
        return replace(self, name=name, items=self.items + columns, groups=self.groups + columns, **changes)

    def _select(self, items: list[str], groups: list[str]) -> str:
        return (
            f"SELECT {', '.join(items)} FROM {self._joined()} GROUP BY {', '.join(groups)} "
            f"ORDER BY {', '.join(self.orders)} LIMIT {self.limit}"
        )

    def _retained(self) -> list[str]:
        sorted_by = [order.split()[0] for order in self.orders]
        return [column for column in self.groups if column in self.key or column in sorted_by]

    def _joined(self) -> str:
        """FROM and WHERE with explicit joins, which every engine compared understands."""
        conditions, joined, text = list(self.conditions), {self.tables[0]}, self.tables[0]
        remaining = self.tables[1:]
        while remaining:
            for table in remaining:
                joins = [
                    c for c in conditions if table in (t := tables_of(c)) and len(t) == 2 and t <= {*joined, table}
                ]
                if joins:
                    break
            text += f" JOIN {table} ON {' AND '.join(joins)}"
            joined.add(table)
            remaining.remove(table)
            conditions = [c for c in conditions if c not in joins]
        return text + (f" WHERE {' AND '.join(conditions)}" if conditions else "")

    @staticmethod
    def _name(item: str) -> str:
        return item.rsplit(" AS ", 1)[-1]


def tables_of(condition: str) -> set[str]:
    return {PREFIXES[prefix] for prefix in re.findall(r"\b([clnors])_\w+", condition)}


def parsed(name: str, text: str, key: list[str], join_back: list[tuple[str, str]]) -> Report:
    """A report from a text in the layout of DuckDB's TPC-H queries."""
    parts = SECTIONS.split(text)
    section = dict(zip(parts[1::3], parts[3::3], strict=True))
    limit = int(parts[-2])

    def lines(title: str) -> list[str]:
        return [re.sub(r"^AND |,$", "", line.strip()) for line in section[title].splitlines() if line.strip()]

    items = [item if " AS " in item or "(" not in item else f"{item} AS total" for item in lines("SELECT")]
    return Report(
        name, items, lines("FROM"), lines("WHERE"), lines("GROUP BY"), lines("ORDER BY"), limit, key, join_back
    )


def reports() -> list[Report]:
    customer = ("customer", "narrow.c_custkey = customer.c_custkey")
    nation = ("nation", "customer.c_nationkey = nation.n_nationkey")
    region = ("region", "nation.n_regionkey = region.r_regionkey")
    q10 = parsed("Q10", tpch.query(10), ["c_custkey"], [customer, nation])
    unfiltered = replace(
        q10,
        name="Q10 unfiltered",
        conditions=[c for c in q10.conditions if "o_orderdate" not in c and "l_returnflag" not in c],
    )
    q3 = parsed(
        "Q3",
        tpch.query(3),
        ["l_orderkey"],
        [("orders", "narrow.l_orderkey = orders.o_orderkey"), ("customer", "orders.o_custkey = customer.c_custkey")],
    )
    q3_wide = q3.with_columns(
        "Q3 wide",
        ["o_clerk", "o_comment", "c_name", "c_address", "c_comment"],
        conditions=[c for c in q3.conditions if len(tables_of(c)) == 2],
        orders=[*q3.orders, "l_orderkey"],
    )
    q18 = parsed(
        "Q18",
        without_subquery(tpch.query(18)),
        ["o_orderkey"],
        [("orders", "narrow.o_orderkey = orders.o_orderkey"), ("customer", "orders.o_custkey = customer.c_custkey")],
    )
    q18_wide = q18.with_columns("Q18 wide", ["o_comment", "c_address", "c_comment"], orders=[*q18.orders, "o_orderkey"])
    snowflake = unfiltered.with_columns(
        "Snowflake",
        ["n_comment", "r_name", "r_comment"],
        tables=[*q10.tables, "region"],
        conditions=[*unfiltered.conditions, "n_regionkey = r_regionkey"],
        join_back=[customer, nation, region],
    )
    return [q10, unfiltered, q3_wide, q18_wide, snowflake]


def without_subquery(text: str) -> str:
    """Q18 without its condition `o_orderkey IN (SELECT ...)`, which leaves a few dozen orders."""
    return re.sub(r"\n    o_orderkey IN \(.*?\)\n    AND ", "\n    ", text, flags=re.DOTALL)
