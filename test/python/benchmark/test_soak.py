"""A short soak: everything ran, every result was right, and nothing stayed behind."""

import json
import subprocess
import sys

import pytest
import soak


@pytest.mark.slow
def test_a_short_soak_is_clean():
    run = subprocess.run(
        [sys.executable, soak.__file__, "--minutes", "0.5"], capture_output=True, text=True, timeout=600
    )
    result = json.loads(run.stdout.splitlines()[-1])
    assert run.returncode == 0, result
    assert set(result["queries"]) == {query.capability for query in soak.QUERIES.values()}
    assert set(result["ran_in"]) == {"local", "DuckDB alone"}
    assert result["kills"] > 0
