"""Secrets of the session reach the tasks that read their files, and nothing else tells them."""

import base64
import json
from pathlib import Path

import duckdb
import merganser
import pytest
from merganser import native
from merganser.ray import worker

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

TOKEN = "open-sesame-4711"
QUERY = "SELECT count(i) FROM t"


@pytest.fixture
def told(ray_cluster):
    """What the workers say of the secrets their tasks have."""
    path = ray_cluster.folder / "secrets"
    path.write_text("")
    yield lambda: path.read_text().splitlines()
    path.unlink()


def create(session, tmp_path, name: str, how: str = "", scope: str | None = None) -> None:
    scope = scope or str(tmp_path)
    session.execute(f"CREATE SECRET {name} {how} (TYPE http, SCOPE '{scope}', BEARER_TOKEN '{TOKEN}')")


@pytest.mark.parametrize("how", ["", "IN connection"])
def test_a_secret_reaches_the_tasks_that_read_its_files(session, told, within, tmp_path, how):
    create(session, tmp_path, "wanted", how)
    create(session, tmp_path, "other", how, scope="https://elsewhere.example")
    assert within(session.execute(QUERY).fetchall) == [(10000,)]
    scans = [line for line in told() if line.startswith("1 ")]
    assert len(scans) == 4
    for line in scans:
        assert "('wanted', 'connection', 'name=wanted;type=http" in line
        assert f"bearer_token={TOKEN}" in line
        assert "other" not in line


def test_a_persistent_secret(use_small_workers, told, within, tmp_path, session):
    config = {"secret_directory": str(tmp_path / "stored")}
    with merganser.connect(runner="ray", config=config) as connection:
        use_small_workers(connection)
        connection.execute(f"CREATE PERSISTENT SECRET kept (TYPE http, SCOPE '{tmp_path}', BEARER_TOKEN '{TOKEN}')")
        query = f"SELECT count(*) FROM read_parquet('{tmp_path}/t_*.parquet')"
        assert within(connection.execute(query).fetchall) == [(10000,)]
    assert any("('kept', 'connection'" in line and TOKEN in line for line in told())


def test_a_secret_is_gone_with_its_task(session, told, within, tmp_path):
    create(session, tmp_path, "once")
    within(session.execute(QUERY).fetchall)
    session.execute("DROP SECRET once")
    before = len(told())
    within(session.execute(QUERY).fetchall)
    assert all(line.endswith("[]") for line in told()[before:])


def test_nothing_tells_it(session, ray_cluster, within, tmp_path, monkeypatch):
    sent: list[worker.Task] = []
    create(session, tmp_path, "wanted")
    documents: list[bytes] = []
    read = native.query_secrets

    def query_secrets(path: Path, number: int) -> list[dict]:
        found = read(path, number)
        assert all(TOKEN.encode() in base64.b64decode(secret["secret"]) for secret in found)
        return found

    monkeypatch.setattr(native, "query_secrets", query_secrets)
    from merganser.ray import query as query_module
    from merganser.ray import runner

    message, read_plan = query_module.Query.message, runner.read_plan
    monkeypatch.setattr(
        runner, "read_plan", lambda document: documents.append(json.dumps(document)) or read_plan(document)
    )

    def keep(query, *arguments):
        sent.append(message(query, *arguments))
        return sent[-1]

    monkeypatch.setattr(query_module.Query, "message", keep)
    session.execute("SET enable_logging = true; SET logging_level = 'TRACE'; SET logging_storage = 'memory'")
    assert within(session.execute(QUERY).fetchall) == [(10000,)]
    session.execute("SET merganser_runner = ''")
    logged = session.execute("SELECT count(*) FROM duckdb_logs WHERE message LIKE '%' || $1 || '%'", [TOKEN]).fetchall()
    session.execute("SET enable_logging = false")
    with_secret = [task for task in sent if task.secrets]
    assert documents and len(with_secret) >= 5
    secret = base64.b64encode(with_secret[0].secrets[0].value).decode()
    assert TOKEN.encode() in with_secret[0].secrets[0].value
    for text in (*documents, *map(repr, sent), json.dumps(merganser.last_query())):
        assert TOKEN not in text
        assert secret not in text
    assert logged == [(0,)]
    for path in ray_cluster.folder.rglob("*.[lo][ou][gt]"):
        assert TOKEN not in path.read_text(errors="replace"), path


def test_a_credential_that_was_set_reaches_the_tasks(session, within, monkeypatch):
    """The session's settings of extensions travel like this one."""
    zone = base64.b64encode(b"'Asia/Kathmandu'").decode()
    setting = [{"name": "TimeZone", "type": "setting", "secret": zone}]
    monkeypatch.setattr(native, "query_secrets", lambda path, number: setting)
    query = "SELECT max(strftime(make_timestamptz(i), '%H:%M')) FROM t WHERE i < 1000"
    assert within(session.execute(query).fetchall) == [("05:30",)]


def test_a_credential_a_worker_cannot_set(session, within, monkeypatch):
    value = base64.b64encode(f"'{TOKEN}'".encode()).decode()
    unknown = [{"name": "key_of_no_extension", "type": "setting", "secret": value}]
    monkeypatch.setattr(native, "query_secrets", lambda path, number: unknown)
    with pytest.raises(duckdb.IOException, match="cannot SET key_of_no_extension as the session has it") as caught:
        within(session.execute(QUERY).fetchall)
    assert TOKEN not in str(caught.value)


def test_a_secret_a_worker_cannot_take(session, within, tmp_path, monkeypatch):
    create(session, tmp_path, "odd")
    broken = [{"name": "odd", "type": "of_an_extension", "secret": base64.b64encode(b"not a secret").decode()}]
    monkeypatch.setattr(native, "query_secrets", lambda path, number: broken)
    with pytest.raises(
        duckdb.IOException,
        match='the worker on .* cannot take the secret "odd" of type of_an_extension, which the files',
    ):
        within(session.execute(QUERY).fetchall)
