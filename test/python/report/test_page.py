"""The page of merganser.report(): what it says is what was planned and run, and it is safe and whole by itself."""

import json
import re

import merganser
import pytest
from merganser.query_report import hot_spots, measured, quantities
from merganser.query_report.operator_names import named_details
from merganser.query_report.planned import Operator
from merganser.query_report.timeline import timeline

REPORT = """SELECT id, name, comment, sum(price) AS revenue FROM customer JOIN sale ON customer_id = id
            GROUP BY ALL ORDER BY revenue DESC, id LIMIT 5"""
GROUPED = "SELECT g, count(*) AS n, sum(i) AS s FROM item GROUP BY g ORDER BY g"


def facts(article) -> list[tuple[str, str]]:
    return [(row.all("dt")[0].text, row.all("dd")[0].text) for row in article.all("dl", "facts")[0].all("div")]


def written(connection, query, path, **options) -> dict:
    return json.loads(merganser.report(connection, query, path, **options).read_text())


# ---------------------------------------------------------------- decisions and plans


def test_late_materialisation_applied(shop, page_of):
    page = page_of(shop, REPORT)
    assert page.with_id("query").all("code")[0].raw_text == REPORT
    decision = page.with_id("decision1")
    assert decision.all("h3")[0].text == "late_materialization applied"
    assert ("key", "customer (id) declared") in facts(decision)
    assert ("fd", "(customer.id)-->(customer.name, customer.comment)") in facts(decision)
    assert [item for item, _ in facts(decision)][0] == "estimate"
    assert re.search(r"decided in \d+ microseconds", decision.text)
    after, before = page.with_id("plans").all("div", "plan")
    assert (before.all("h3")[0].text, after.all("h3")[0].text) == ("Before: DuckDB alone", "After: with Merganser")
    names = [element.text for element in after.all("span", "name")]
    assert names.count("Join Back Guard") == 1 and names.count("Narrow Rows") == 1
    assert "Join Back Guard" not in [element.text for element in before.all("span", "name")]
    assert page.with_id("total-rows").text == "5"


def test_deferred_columns_are_marked_where_they_are_carried(shop, page_of):
    """Before: from the scan of customer through the join and the aggregate. After: above the join-back only."""
    after, before = page_of(shop, REPORT).with_id("plans").all("div", "plan")

    def carrying(plan):
        return [row.all("span", "name")[0].text for row in plan.all("li", "carries")]

    assert "Hash Group By" in carrying(before) and "Seq Scan" in carrying(before)
    assert "Hash Group By" not in carrying(after) and "Join Back Guard" in carrying(after)
    assert carrying(after)[-1] == "Seq Scan"
    tags = {tag.text for plan in (before, after) for tag in plan.all("div", "tag")}
    assert tags == {"carries name, comment"}
    # 5 rows leave each of them, for the guard let them through
    count = len(carrying(after))
    assert carrying(after) and "Union" not in carrying(after)
    assert f"carried by {count} operators, over {5 * count} rows" in after.all("p", "carried")[0].text


def test_figures_of_operators_are_those_of_the_run(shop, tmp_path):
    told = written(shop, REPORT, tmp_path / "report.json")
    plan = told["run"]["plan"]
    assert (plan["name"], plan["rows"]) == ("TOP_N", 5)

    def scans(operator):
        below = [scan for child in operator["children"] for scan in scans(child)]
        return below or [operator]

    assert 200000 in [scan["rows"] for scan in scans(plan)]
    assert told["run"]["rows"] == len(shop.execute(REPORT).fetchall())
    assert told["run"]["wall_seconds"] > 0 and told["run"]["stages"] is None


def test_declined(shop, page_of):
    page = page_of(shop, "SELECT name, sum(price) AS s FROM customer JOIN sale ON customer_id = id GROUP BY name")
    decision = page.with_id("decision1")
    assert decision.all("h3")[0].text == "late_materialization declined no_determined_column"
    assert decision.all("p", "remedy")[0].text.startswith("What to do: declare the key: ALTER TABLE")
    (plan,) = page.with_id("plans").all("div", "plan")
    assert plan.all("h3")[0].text == "Without and with Merganser"
    assert not page.all("li", "carries")
    assert "Both plans are the same" in page.with_id("plans").text


def test_a_table_function_tells_its_grouping(connection, page_of):
    connection.execute(
        "CREATE TABLE t AS SELECT i % 3 AS a, TIMESTAMP '2026-01-01' + to_seconds(i) AS time FROM range(10) r(i)"
    )
    page = page_of(connection, "FROM SESSION(DATA => TABLE(t) PARTITION BY a ORDER BY time, GAP => 1m)")
    grouping = page.with_id("decision1")
    assert grouping.all("h3")[0].text == "grouping chosen hashed"
    assert ("partition by", "{a}") in facts(grouping)
    (session,) = [row for row in page.all("li", "ours") if row.all("span", "name")[0].text == "Session"]
    assert session.all("div", "rows")[0].text.startswith("10 rows")


def test_inputs_of_an_operator_are_named(connection, page_of):
    connection.execute("CREATE TABLE t AS FROM range(10) r(i)")

    def places(query):
        return [place.text for place in page_of(connection, query).all("p", "place")]

    assert places("FROM t WHERE i > 3") == []
    assert places("SELECT count(*) FROM t JOIN t AS u USING (i)") == [
        "left input of Hash Join",
        "right input of Hash Join",
    ]
    assert places("FROM t UNION ALL FROM t UNION ALL FROM t") == [
        "input 1 of Union",
        "input 2 of Union",
        "input 3 of Union",
    ]


def test_no_rule_looked_at_it(connection, page_of):
    page = page_of(connection, "SELECT 42 AS answer")
    assert "No rule looked at this query" in page.with_id("decisions").text
    assert page.with_id("total-rows").text == "1"


def test_titles_name_the_query(connection, page_of):
    def titles(query, **options):
        page = page_of(connection, query, **options)
        return page.all("h1")[0].text, page.all("title")[0].text

    assert titles("-- The answer\nSELECT 42") == ("The answer", "The answer · Merganser report")
    assert titles("/* The\nanswer */ SELECT 42")[0] == "The answer"
    assert titles("SELECT  42\n AS answer")[0] == "SELECT 42 AS answer"
    assert titles("SELECT 42", title="<i>q10</i>")[0] == "<i>q10</i>"
    assert titles(f"SELECT '{'x' * 200}'")[0].endswith("x…")


def test_pivot_and_statements_before_the_query(connection, page_of):
    page = page_of(connection, "CREATE TABLE t AS SELECT i % 3 AS a, i FROM range(9) r(i); PIVOT t ON a USING sum(i);")
    assert page.with_id("query").all("code")[0].raw_text == "PIVOT t ON a USING sum(i)"
    assert "becomes several statements" in page.with_id("decisions").text
    assert page.with_id("total-rows").text == "1"
    assert "t" in [subject.text for subject in page.with_id("plans").all("div", "subject")]


# ---------------------------------------------------------------- where the time went


def test_operators_are_listed_by_their_time(shop, page_of, tmp_path):
    page = page_of(shop, REPORT)
    listed = page.with_id("hot").all("ol", "hot")[0].all("li")
    shares = [float(item.attributes["style"].removeprefix("--share:")) for item in listed]
    assert 3 <= len(listed) <= 8 and shares == sorted(shares, reverse=True) and sum(shares) <= 1.01
    names = {element.attributes["id"]: element for element in page.with_id("plans").all("li", "operator")}
    for item in listed:
        (link,) = item.all("a")
        operator = names[link.attributes["href"].removeprefix("#")]
        assert operator.all("span", "name")[0].text == link.text
        assert float(operator.attributes["style"].removeprefix("--share:")) == float(
            item.attributes["style"].removeprefix("--share:")
        )
    scans = [item.text for item in listed if "Seq Scan sale" in item.text]
    assert scans and "200,000 rows → 200,000" in scans[0]


def test_what_is_worth_a_look(connection, page_of, tmp_path):
    """A scan that drops nearly all it reads, and an estimate that is far off."""
    connection.execute("CREATE TABLE t AS SELECT i, hash(i) % 50000 AS h FROM range(100000) r(i)")

    def remarks(condition):
        page = page_of(connection, f"SELECT i FROM t WHERE {condition}")
        return [item.text for item in page.with_id("hot").all("ul", "remarks")[0].all("li")]

    (scanned,) = remarks("h + 0 = 7")
    assert re.fullmatch(r"Seq Scan t: reads \d\d,\d\d\d rows and keeps \d of them", scanned)
    filtered = remarks("h % 1000 = 7 AND i % 10 = 1")
    assert [
        text for text in filtered if re.match(r"Filter .*: [\d,]+x fewer rows than estimated: \d+, not 20,000", text)
    ]
    connection.execute(f"COPY t TO '{tmp_path}/some.parquet' (ROW_GROUP_SIZE 2048)")
    page = page_of(connection, f"SELECT i FROM '{tmp_path}/some.parquet' WHERE i = 77")
    assert "some.parquet" in [subject.text for subject in page.with_id("plans").all("div", "subject")]


def test_nothing_is_hot_where_nothing_ran(shop, page_of):
    assert "hot" not in {e.attributes.get("id") for e in page_of(shop, REPORT, run=False).all()}


def test_the_plan_before_is_measured_on_request(shop, page_of, tmp_path):
    page = page_of(shop, REPORT, measure_before=True)
    after, before = page.with_id("plans").all("div", "plan")
    assert page.with_id("before-time").text.endswith(("ms", "s"))
    scans = [row.text for row in before.all("li", "operator") if "Seq Scan" in row.text]
    assert any("200,000 rows" in text for text in scans)
    assert "~" not in before.all("p", "carried")[0].text.partition("(")[0]
    told = written(shop, REPORT, tmp_path / "r.json", measure_before=True)
    assert told["run_before"]["rows"] == told["run"]["rows"] == 5
    assert "JOIN_BACK_GUARD" not in json.dumps(told["run_before"]["plan"])
    assert shop.execute("SELECT current_setting('merganser_late_materialization')").fetchall() == [(True,)]


def test_the_hottest_stages_are_listed(staged, page_of):
    page = page_of(staged, GROUPED)
    stages = sorted(merganser.last_query()["stages"], key=lambda stage: -stage["task_seconds"])
    listed = page.with_id("hot").all("ol", "hot")[0].all("a")
    assert [link.attributes["href"] for link in listed] == [f"#stage{stage['stage']}" for stage in stages]


def test_stages_worth_a_look():
    calm = {"stage": 1, "tasks": 4, "task_seconds": 1.0, "rows_in": 9, "rows_out": 9, "estimated_rows": 9, "skew": 1.0}
    calm |= {"retries": 0, "spilled_bytes": 0}
    odd = {**calm, "stage": 2, "skew": 3.0, "retries": 2, "spilled_bytes": 4096, "rows_out": 5000}
    told = hot_spots.hot_stages([calm, odd])
    assert [remark.anchor for remark in told.remarks] == ["stage2"] * 4
    text = " ".join(remark.text for remark in told.remarks)
    for part in ("556x more rows than estimated", "3.0x the median", "2 retries", "spilled 4.1 kB"):
        assert part in text


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT g, sum(i + 1) AS s FROM t GROUP BY g", "g"),
        ("SELECT g, sum(i + 1) AS s FROM t GROUP BY g ORDER BY s DESC LIMIT 3", "3 by s DESC"),
        ("SELECT * FROM t JOIN u USING (g)", "g = g"),
        (
            "SELECT g, '#0' || s AS x, count(*) FROM t GROUP BY ALL HAVING count(*) > 0",
            "g, __internal_compress_string_uinteger(('#0' || s))",
        ),
    ],
)
def test_positions_are_told_by_name(connection, page_of, query, shown):
    connection.execute("CREATE TABLE t AS SELECT i, i % 70000 AS g, 'x' AS s FROM range(200000) r(i)")
    connection.execute("CREATE TABLE u AS SELECT i * 3 AS g, i AS v FROM range(1000) r(i)")
    page = page_of(connection, query)
    subjects = [subject.text for subject in page.with_id("plans").all("div", "subject")]
    assert shown in subjects
    details = [detail.text for detail in page.with_id("plans").all("div", "detail")]
    assert not [text for text in details if re.search(r"(?<!')#\d", text)]


def test_positions_stay_where_their_names_are_not_known():
    scan = Operator("SEQ_SCAN", {"Table": ["t"], "Projections": ["a", "b"]})
    join = Operator("HASH_JOIN", {"Conditions": ["#0 = #1"]}, [scan, scan])
    top = Operator("PROJECTION", {"Projections": ["#3", "'#0'"]}, [join])
    named = named_details(top)
    assert named[id(join)]["Conditions"] == ["a = b"]
    assert named[id(top)]["Projections"] == ["#3", "'#0'"]
    over_scan = Operator("PROJECTION", {"Projections": ["#1 + '#0'", "#7"]}, [scan])
    assert named_details(over_scan)[id(over_scan)]["Projections"] == ["b + '#0'", "#7"]


def test_a_plan_is_a_tree_of_chains(connection, page_of):
    """Nested joins: each input is a branch, and the deepest goes on below."""
    connection.execute("CREATE TABLE t AS SELECT i, i AS j FROM range(1000) r(i)")
    query = "SELECT count(a.j + b.j + c.j + d.j) FROM (t a JOIN t b USING (i)) JOIN (t c JOIN t d USING (i)) USING (i)"
    (tree,) = page_of(connection, query).with_id("plans").all("div", "tree")
    inputs = tree.all("div", "inputs")
    assert len(inputs) == 3
    for of in inputs:
        branches = [part for part in of.content if not isinstance(part, str)]
        assert len(branches) == 2
        assert sum("deepest" in branch.attributes["class"].split() for branch in branches) == 1
        assert [branch.all("p", "place")[0].text.split()[0] for branch in branches] == ["left", "right"]
    assert len(tree.all("li", "operator")) == len(re.findall(r'"name"', planned_json(connection, query)))


def planned_json(connection, query) -> str:
    return connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall()[0][1]


# ---------------------------------------------------------------- stages


def test_figures_of_stages_are_those_of_last_query(staged, page_of):
    page = page_of(staged, GROUPED)
    last = merganser.last_query()
    assert len(last["stages"]) > 1 and max(stage["tasks"] for stage in last["stages"]) >= 3
    rows = page.with_id("stage-figures").all("tbody")[0].all("tr")
    assert [row.all("th")[0].text for row in rows] == [str(stage["stage"]) for stage in last["stages"]]
    for row, stage in zip(rows, last["stages"], strict=True):
        shown = {cell.attributes["data-of"]: cell.text for cell in row.all("td")}
        estimate = quantities.estimate_against(stage["estimated_rows"], stage["rows_out"])
        assert shown == {
            "tasks": str(stage["tasks"]),
            "task_seconds": quantities.seconds(stage["task_seconds"]),
            "wall_seconds": quantities.seconds(stage["wall_seconds"]),
            "rows_in": quantities.count(stage["rows_in"]),
            "rows_out": quantities.count(stage["rows_out"]),
            "estimated_rows": quantities.count(stage["estimated_rows"]) + estimate,
            "bytes_in": quantities.size(stage["bytes_in"]),
            "bytes_out": quantities.size(stage["bytes_out"]),
            "skew": quantities.factor(stage["skew"]),
            "retries": str(stage["retries"]),
            "spilled_bytes": quantities.size(stage["spilled_bytes"]),
            "slowest_worker": stage["slowest_worker"],
        }


def test_tasks_stand_on_the_line_of_their_worker(staged, page_of):
    page = page_of(staged, GROUPED)
    stages = merganser.last_query()["stages"]
    assert all(len(stage["timeline"]) == stage["tasks"] >= 1 for stage in stages)
    assert sum(task["seconds"] for stage in stages for task in stage["timeline"]) == pytest.approx(
        sum(stage["task_seconds"] for stage in stages), abs=1e-4
    )
    lines = page.with_id("timeline").all("div", "line")
    workers = {task["worker"] for stage in stages for task in stage["timeline"]}
    assert sorted(line.all("span", "worker")[0].text for line in lines) == sorted(workers)
    assert workers <= {"thread 1", "thread 2"}  # two slots
    bars = [bar.text for bar in page.with_id("timeline").all("a")]
    assert sorted(bars) == sorted(str(stage["stage"]) for stage in stages for _ in stage["timeline"])


def test_a_worker_runs_one_task_at_a_time(staged):
    staged.execute(GROUPED).fetchall()
    runs = {}
    for stage in merganser.last_query()["stages"]:
        for task in stage["timeline"]:
            runs.setdefault(task["worker"], []).append((task["started"], task["started"] + task["seconds"]))
    for of in runs.values():
        of.sort()
        assert all(end <= start + 1e-5 for (_, end), (start, _) in zip(of, of[1:], strict=False))


def test_places_of_bars():
    tasks = [{"worker": "a", "started": 0.0, "seconds": 1.0}, {"worker": "b", "started": 3.0, "seconds": 1.0}]
    lines = timeline([{"stage": 7, "timeline": tasks}])
    assert [(line.worker, line.busy) for line in lines] == [("a", "25 %"), ("b", "25 %")]
    assert [(bar.stage, bar.start, bar.width) for line in lines for bar in line.bars] == [(7, 0, 0.25), (7, 0.75, 0.25)]
    assert timeline([{"stage": 1, "timeline": []}]) == []


def test_json_has_last_query_as_it_is(staged, tmp_path):
    told = written(staged, GROUPED, tmp_path / "report.json")
    assert told["run"]["stages"] == merganser.last_query()
    assert told["runner"] == "local"
    planned = staged.execute("SELECT stage, sql, reason FROM merganser_stages(?)", [GROUPED]).fetchall()
    assert [(stage["number"], stage["sql"], stage["reason"]) for stage in told["stages"]["stages"]] == planned


def test_stages_show_their_sql_and_why(staged, page_of):
    page = page_of(staged, GROUPED)
    planned = staged.execute("SELECT stage, sql, reason FROM merganser_stages(?)", [GROUPED]).fetchall()
    for number, sql, reason in planned:
        stage = page.with_id(f"stage{number}")
        assert stage.all("details")[0].all("code")[0].raw_text == sql
        assert ("why", reason) in facts(stage)
    drawn = {link.attributes["href"] for link in page.all("svg")[0].all("a")}
    assert drawn == {f"#stage{number}" for number, _, _ in planned}


def test_many_stages_are_a_tree_in_one_column(staged, page_of):
    few = page_of(staged, GROUPED, run=False)
    assert few.all("svg") and not few.all("div", "many")
    query = " UNION ALL ".join(f"SELECT g, sum(i) AS s FROM item WHERE i > {number} GROUP BY g" for number in range(30))
    page = page_of(staged, query, run=False)
    (tree,) = page.all("div", "many")
    drawn = [link.attributes["href"] for link in tree.all("a")]
    planned = staged.execute("SELECT '#stage' || stage FROM merganser_stages(?)", [query]).fetchall()
    assert len(planned) >= 30 and sorted(drawn) == sorted(link for (link,) in planned)
    assert not page.all("svg")


def test_exchanges_are_drawn_with_rows_and_bytes(staged, page_of):
    page = page_of(staged, GROUPED)
    volumes = [element.text for element in page.all("svg")[0].all("text", "volume")]
    for stage in merganser.last_query()["stages"]:
        assert quantities.amount(stage["rows_out"], "row") in volumes
        assert quantities.size(stage["bytes_out"]) in volumes
    assert "9,000 rows" in volumes  # what the first stage scans
    assert "3 files" in [element.text for element in page.all("svg")[0].all("tspan", "title")]


def test_late_materialisation_in_stages_and_rows_the_session_sends(staged, page_of):
    page = page_of(staged, REPORT)
    assert page.with_id("decision1").all("h3")[0].text == "late_materialization applied"
    assert page.with_id("decision2").all("h3")[0].text == "stages applied"
    titles = [element.text for element in page.all("svg")[0].all("tspan", "title")]
    assert "customer" in titles and "sale" in titles
    volumes = [element.text for element in page.all("svg")[0].all("text", "volume")]
    assert "200,000 rows" in volumes and "to all 4 tasks" in volumes
    assert len(page.with_id("plans").all("div", "plan")) == 2


def test_a_query_kept_on_one_node_says_why(staged, page_of):
    staged.execute("SET merganser_distribute_min_bytes = 1000000000000")
    page = page_of(staged, GROUPED)
    assert page.with_id("decision2").all("h3")[0].text == "stages declined kept_on_one_node"
    assert "ran in one DuckDB: the input, about" in page.with_id("stages").text
    assert not page.all("svg") and not page.all("table", "figures")


def test_without_a_runner_stages_are_planned_and_marked_so(staged, page_of):
    staged.execute("SET merganser_runner = ''")
    before = merganser.last_query()
    page = page_of(staged, GROUPED)
    assert "because no runner is set" in page.with_id("stages").text
    assert page.all("svg") and not page.all("text", "volume")
    assert "stage-figures" not in {element.attributes.get("id") for element in page.all()}
    assert merganser.last_query() == before


def test_only_planned(staged, page_of):
    """A query that would fail if it ran."""
    query = "SELECT g, error('it ran') AS e FROM item GROUP BY g"
    page = page_of(staged, query, run=False)
    assert "only planned" in page.all("header")[0].text
    assert "would run in" in page.with_id("stages").text
    assert not page.all("text", "volume") and not page.all("div", "took")


def test_figures_of_another_query_are_not_shown(staged, page_of, monkeypatch):
    other = {"runner": "local", "wall_seconds": 1.0, "stages": []}
    monkeypatch.setattr(measured, "last_query", lambda: other)
    page = page_of(staged, GROUPED)
    assert "What each stage took is not known" in page.with_id("stages").text
    assert not page.all("text", "volume")
    assert page.with_id("total-rows").text == "7"


def test_a_stage_that_another_one_computed(staged, page_of, monkeypatch):
    def decided():
        last = merganser.last_query()
        last["stages"][0].update(tasks=0, rows_out=0, bytes_out=0, decisions=["computed inside stage 2"])
        return last

    monkeypatch.setattr(measured, "last_query", decided)
    page = page_of(staged, GROUPED)
    drawn = page.all("svg")[0]
    assert "not exchanged" in [element.text for element in drawn.all("text", "volume")]
    assert "no task of its own" in [element.text for element in drawn.all("tspan")]
    assert ("decided when it started", "computed inside stage 2") in facts(page.with_id("stage1"))


def test_decisions_between_stages_are_shown(staged, page_of, monkeypatch):
    def decided():
        last = merganser.last_query()
        last["stages"][1]["tasks"] = 1
        last["stages"][1]["decisions"] = ["4 shares of 100 bytes in 1 task"]
        return last

    monkeypatch.setattr(measured, "last_query", decided)
    stage = page_of(staged, GROUPED).with_id("stage2")
    assert ("decided when it started", "4 shares of 100 bytes in 1 task") in facts(stage)
    assert ("tasks", "4 planned, 1 run") in facts(stage)


# ---------------------------------------------------------------- surroundings


def test_surroundings(staged, page_of):
    staged.execute("SET http_proxy_password = 'hunter2'")
    page = page_of(staged, GROUPED)
    section = page.with_id("surroundings")
    assert ("DuckDB", "2.0.1") in facts(section)
    rows = [
        [cell.text for cell in row.content if not isinstance(cell, str)] for row in section.all("tbody")[0].all("tr")
    ]
    assert ["merganser_tasks", "4", "connection"] in rows
    assert ["http_proxy_password", "(set; not shown)", "database"] in rows
    assert "merganser_broadcast_max_bytes" not in [row[0] for row in rows]
    assert "hunter2" not in page.raw_text


def test_the_connection_keeps_its_settings(staged, page_of):
    query = "SELECT name, value, scope FROM duckdb_settings() ORDER BY name"
    staged.execute("SET GLOBAL merganser_runner = 'local'")
    staged.execute("RESET SESSION merganser_runner")
    staged.execute("SET SESSION merganser_late_materialization = false")
    staged.execute("SET explain_output = 'all'")
    before = staged.execute(query).fetchall()
    page = page_of(staged, REPORT)
    assert page.with_id("decision1").all("h3")[0].text == "late_materialization declined switched_off"
    assert staged.execute(query).fetchall() == before


def test_it_sees_what_the_connection_sees(connection, page_of):
    """Temporary tables, and rows of its open transaction."""
    connection.execute("CREATE TEMP TABLE mine AS FROM range(10) r(i)")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO mine VALUES (99)")
    assert page_of(connection, "FROM mine").with_id("total-rows").text == "11"
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM mine").fetchall() == [(10,)]


# ---------------------------------------------------------------- the page itself

EVIL = "</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\"'"


@pytest.fixture
def evil(staged, tmp_path) -> str:
    """A query with markup wherever a query has room for text: names, strings, comments."""
    staged.execute(
        f"""CREATE TABLE "{EVIL.replace('"', '""')}" AS SELECT i AS "<b>i</b>", 'x' AS "]]>" FROM range(9) r(i)"""
    )
    quoted = EVIL.replace("'", "''")
    name = EVIL.replace('"', '""')
    return f"""/* {EVIL.replace("/", "")} */ SELECT "<b>i</b>" AS "<script>", '{quoted}' AS s, count(*)
        FROM "{name}" WHERE "]]>" <> '{quoted}' GROUP BY ALL ORDER BY ALL LIMIT 3"""


@pytest.mark.parametrize("runner", ["", "local"])
def test_markup_in_a_query_stays_text(staged, evil, page_of, runner):
    staged.execute(f"SET merganser_runner = '{runner}'")
    page = page_of(staged, evil)
    assert page.with_id("query").all("code")[0].raw_text == evil
    assert not page.all("script") and not page.all("img")
    for element in page.all():
        assert not [name for name in element.attributes if name.startswith("on")], element
    assert EVIL.replace('"', '""') in page.with_id("plans").raw_text


def test_markup_in_a_setting_stays_text(connection, page_of, tmp_path):
    folder = tmp_path / "<script>alert(3)<" / "script>"
    folder.mkdir(parents=True)
    connection.execute(f"SET merganser_exchange_directory = '{folder}'")
    page = page_of(connection, "SELECT 1")
    assert not page.all("script")
    assert "<script>alert(3)</script>" in page.with_id("surroundings").raw_text


@pytest.mark.parametrize("query", [REPORT, GROUPED])
def test_nothing_is_loaded_from_elsewhere(staged, page_of, query):
    page = page_of(staged, query)
    assert not [element.tag for element in page.all() if element.tag in ("script", "iframe", "object", "embed", "base")]
    for element in page.all():
        for name, value in element.attributes.items():
            if name in ("href", "src", "srcset", "action", "xlink:href", "data", "poster"):
                assert value.startswith("#") or value == "data:,", (element.tag, name, value)
            assert "url(" not in value or value == "url(#tip)"
    (style,) = page.all("style")
    assert "url(" not in style.raw_text and "@import" not in style.raw_text
    (policy,) = [meta for meta in page.all("meta") if meta.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy.attributes["content"].startswith("default-src 'none'; ")


@pytest.mark.parametrize("query", [REPORT, GROUPED])
def test_links_headings_and_what_scrolls_are_reachable(staged, page_of, query):
    page = page_of(staged, query)
    names = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(names) == len(set(names))
    links = [link.attributes["href"] for link in page.all("a")]
    assert links and {link.removeprefix("#") for link in links} <= set(names)
    labels = [value for e in page.all() for value in [e.attributes.get("aria-labelledby")] if value]
    assert set(labels) <= set(names)
    assert all(pre.attributes.get("tabindex") == "0" for pre in page.all("pre"))
    scrolling = page.all("div", "scroll")
    assert scrolling and all(e.attributes["tabindex"] == "0" and e.attributes["aria-label"] for e in scrolling)
    levels = [int(element.tag[1]) for element in page.all() if re.fullmatch(r"h\d", element.tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
    (html,) = page.all("html")
    assert html.attributes["lang"] == "en"
    assert [meta for meta in page.all("meta") if meta.attributes.get("name") == "viewport"]
