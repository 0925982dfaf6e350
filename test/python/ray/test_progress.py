"""Progress: lines where standard error is no terminal, bars on one, nothing when switched off."""

import sys

import pytest
from merganser.ray import progress

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

QUERY = "SELECT g, count(*) FROM t GROUP BY g ORDER BY g LIMIT 5"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0)
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0)


def test_lines(session, capsys):
    session.execute(QUERY).fetchall()
    assert "merganser: stage 1: 4 tasks in " in capsys.readouterr().err


def test_bars(session, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for _ in range(2):  # the first gives the terminal back
        session.execute(QUERY).fetchall()
        text = capsys.readouterr().err
        assert "stage 1" in text
        assert "merganser:" not in text


def test_off(session, capsys):
    session.execute("SET merganser_progress = false")
    session.execute(QUERY).fetchall()
    assert capsys.readouterr().err == ""
