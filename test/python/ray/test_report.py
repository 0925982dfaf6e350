"""merganser.report() of a query that runs on Ray."""

import json

import merganser
import pytest

pytestmark = pytest.mark.ray


def test_figures_are_those_of_the_nodes(session, tmp_path):
    query = "SELECT g, count(*) AS n FROM t GROUP BY g"
    told = json.loads(merganser.report(session, query, tmp_path / "report.json").read_text())
    assert told["run"]["stages"] == merganser.last_query()
    assert told["run"]["stages"]["runner"] == "ray"
    assert told["run"]["rows"] == 3
    assert told["surroundings"]["versions"]["Ray"]
    assert [stage["tasks"] for stage in told["stages"]["stages"]][0] == 4
