"""merganser.connect(): a real DuckDB connection with the extension inside, or a sentence that says what to install."""

import duckdb
import merganser
import pytest
from merganser import connection as connection_module

LOADED = "SELECT loaded FROM duckdb_extensions() WHERE extension_name = 'merganser'"


def test_connect_returns_duckdbs_own_connection():
    with merganser.connect() as connection:
        assert type(connection) is duckdb.DuckDBPyConnection
        assert connection.execute(LOADED).fetchall() == [(True,)]


def test_connect_passes_duckdbs_arguments_on(tmp_path):
    file = tmp_path / "some.duckdb"
    with merganser.connect(file, config={"threads": "1"}) as connection:
        connection.execute("CREATE TABLE t AS SELECT 42 AS i")
        assert connection.execute("SELECT current_setting('threads')").fetchall() == [(1,)]
    with merganser.connect(str(file), read_only=True) as connection:
        assert connection.execute("FROM t").fetchall() == [(42,)]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("INSERT INTO t VALUES (1)")


def test_cursors_have_the_extension_too():
    with merganser.connect() as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT current_setting('merganser_late_materialization')").fetchall() == [(True,)]


def test_plain_load_in_stock_duckdb_needs_nothing_but_unsigned_extensions():
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{merganser.extension_path()}'")
        assert connection.execute(LOADED).fetchall() == [(True,)]
    with duckdb.connect() as connection, pytest.raises(duckdb.IOException, match="unsigned"):
        connection.execute(f"LOAD '{merganser.extension_path()}'")


def test_loading_twice_is_harmless():
    with merganser.connect() as connection:
        connection.execute(f"LOAD '{merganser.extension_path()}'")
        assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_another_duckdb_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setattr(duckdb, "__version__", "1.4.2")
    with pytest.raises(RuntimeError, match=r"DuckDB 1\.4\.2 is installed; run: pip install duckdb==2\.0\.1"):
        merganser.connect()


def test_a_footer_for_another_duckdb_is_refused(tmp_path):
    """DuckDB compares the footer first; what stands behind it is VersionGuard, tested in test/cpp."""
    other = tmp_path / "merganser.duckdb_extension"
    other.write_bytes(merganser.extension_path().read_bytes().replace(b"v2.0.1\0", b"v2.0.9\0"))
    stock = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    with stock, pytest.raises(duckdb.InvalidInputException, match=r"v2\.0\.9"):
        stock.execute(f"LOAD '{other}'")


def test_a_checkout_without_a_build_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.delenv("MERGANSER_EXTENSION", raising=False)
    monkeypatch.setattr(connection_module, "__file__", str(tmp_path / "connection.py"))
    with pytest.raises(FileNotFoundError, match="run `make build` first"):
        merganser.connect()


def test_versions_agree():
    project = connection_module.Path(__file__).parents[3] / "pyproject.toml"
    text = project.read_text()
    assert f'version = "{merganser.__version__}"' in text
    assert f'"duckdb=={connection_module.BUILT_FOR}"' in text
    assert f'"ray=={connection_module.RAY}"' in text
    footer = merganser.extension_path().read_bytes()[-512:]
    assert f"v{connection_module.BUILT_FOR}".encode() in footer
    assert merganser.__version__.encode() in footer


def test_runner_of_the_environment(monkeypatch):
    monkeypatch.setenv("MERGANSER_RUNNER", "local")
    with merganser.connect() as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT current_setting('merganser_runner')").fetchall() == [("local",)]
    with merganser.connect(runner="", slots=3) as connection:
        query = "SELECT current_setting('merganser_runner'), current_setting('merganser_slots')"
        assert connection.execute(query).fetchall() == [("", 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runner": "spark"}, 'runner must be "local", "ray" or "", not \'spark\''),
        ({"runner": "local", "address": "local"}, 'address is for runner="ray"'),
        ({"slots": 0}, "slots must be a whole number of at least 1, not 0"),
        ({"slots": "x"}, "slots must be a whole number of at least 1, not 'x'"),
    ],
)
def test_arguments_of_a_runner(arguments, message):
    with pytest.raises(ValueError, match=message):
        merganser.connect(**arguments)


def test_ray_is_not_installed(monkeypatch):
    monkeypatch.setattr(connection_module, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs Ray; run: pip install ray==[\d.]+ numpy$"):
        merganser.connect(runner="ray")
