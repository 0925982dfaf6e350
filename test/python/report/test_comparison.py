"""Two runs side by side: what took longer, what differs, and what is no report."""

import copy
import json

import merganser
import pytest
from merganser.query_report.comparison import compare

QUERY = "SELECT name, sum(price) AS s FROM customer JOIN sale ON customer_id = id GROUP BY name ORDER BY s DESC LIMIT 3"


@pytest.fixture
def told(shop, tmp_path):
    return json.loads(merganser.report(shop, QUERY, tmp_path / "a.json").read_text())


def test_a_run_is_as_itself(told):
    compared = compare(told, told)
    assert {figure.change for figure in compared.figures} == {"about the same", ""}
    assert {figure.change for figure in compared.parts} == {"about the same"}
    assert not compared.decisions and not compared.settings and compared.same_query


def test_what_took_longer_or_less(told):
    slower = copy.deepcopy(told)
    slower["run"]["wall_seconds"] = 3 * told["run"]["wall_seconds"]
    slower["run"]["spilled_bytes"] = 4096
    slower["run"]["plan"]["seconds"] = 60.0
    slower["surroundings"]["settings"].append(["threads", "1", "database"])
    slower["decisions"][0]["reason"] = "switched_off"
    compared = compare(told, slower)
    figures = {figure.name: figure for figure in compared.figures}
    assert (figures["time"].change, figures["time"].kind) == ("3.0x more", "worse")
    assert (figures["spilled"].second, figures["spilled"].kind) == ("4.1 kB", "worse")
    assert [figure.second for figure in compared.parts if figure.kind == "worse"] == ["60 s"]
    assert [figure.name for figure in compared.settings] == ["threads"]
    assert [(figure.name, figure.second) for figure in compared.decisions] == [
        ("late_materialization 1", "switched_off")
    ]
    back = {figure.name: figure for figure in compare(slower, told).figures}
    assert (back["time"].change, back["time"].kind) == ("3.0x less", "better")


def test_operators_of_one_plan_alone_stand_beside_nothing(shop, told, tmp_path):
    shop.execute("SET merganser_late_materialization = false")
    other = json.loads(merganser.report(shop, f"SELECT 1 + s FROM ({QUERY})", tmp_path / "b.json").read_text())
    compared = compare(told, other)
    assert not compared.same_query
    alone = [figure for figure in compared.parts if not (figure.first and figure.second)]
    assert alone and all(figure.change in ("only in the first", "only in the second") for figure in alone)
    assert len(compared.parts) - len(alone) >= 3


def test_the_page(shop, tmp_path, read):
    for name in ("a.json", "b.json"):
        merganser.report(shop, QUERY, tmp_path / name, title="<b>name</b>")
    path = merganser.compare_reports(tmp_path / "a.json", tmp_path / "b.json", tmp_path / "page.html")
    page = read(path)
    assert page.all("h1")[0].text == "<b>name</b>"
    assert [row.all("th")[0].text for row in page.with_id("figures").all("tbody")[0].all("tr")] == [
        "time",
        "CPU time",
        "planning",
        "peak memory",
        "spilled",
        "rows",
    ]
    assert "Seq Scan sale" in page.with_id("parts").text
    assert page.with_id("query").all("code")[0].raw_text == QUERY
    assert not page.all("script") and path._repr_html_().startswith("<iframe")


def test_runs_in_stages(staged, tmp_path):
    query = "SELECT g, count(*) AS n FROM item GROUP BY g"
    told = json.loads(merganser.report(staged, query, tmp_path / "a.json").read_text())
    assert len(told["run"]["stages"]["stages"]) == 2
    compared = compare(told, told)
    assert [figure.name.split(",")[0] for figure in compared.parts] == [
        "Stage of 3 files in slices",
        "Stage of stage 1",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [("no JSON", "is no report as JSON"), ("[]", "is no report as JSON"), ('{"query": ""}', "is no report as JSON")],
)
def test_what_is_no_report_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        merganser.compare_reports(tmp_path / "a.json", tmp_path / "a.json", tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_report_of_what_was_only_planned_is_refused(shop, tmp_path):
    merganser.report(shop, QUERY, tmp_path / "a.json", run=False)
    with pytest.raises(ValueError, match="only planned"):
        merganser.compare_reports(tmp_path / "a.json", tmp_path / "a.json", tmp_path / "page.html")
    with pytest.raises(ValueError, match=r"ends in \.html"):
        merganser.compare_reports(tmp_path / "a.json", tmp_path / "a.json", tmp_path / "page.json")
