"""The sqllogic runner must fail where a file and the database disagree; otherwise every other test proves nothing."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import sqllogic

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(tmp_path: Path):
    def run(text: str, **options) -> None:
        path = tmp_path / "case.test"
        path.write_text(text)
        file = sqllogic.parse(path)
        for variant in file.variants:
            sqllogic.Runner(duckdb.connect, tmp_path, variant, **options).run(file)

    return run


def rejected(run, text: str, message: str) -> None:
    with pytest.raises(sqllogic.Mismatch, match=message):
        run(text)


def malformed(run, text: str, message: str) -> None:
    with pytest.raises(sqllogic.FileError, match=message):
        run(text)


def test_rows_of_many_types(run):
    run(
        "query IITTTTTTT\n"
        "SELECT 170141183460469231731687303715884105727::HUGEINT, -1::TINYINT, NULL, '', [1, NULL], {'a': 1.50},\n"
        "       '12:00:00+01'::TIMETZ, '101'::BIT, INTERVAL '1 month 2 days'\n"
        "----\n"
        "170141183460469231731687303715884105727\t-1\tNULL\t(empty)\t[1, NULL]\t{'a': 1.50}\t12:00:00+01\t101\t"
        "1 month 2 days\n"
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1", "2"),
        ("SELECT 1", "NULL"),
        ("SELECT NULL::DOUBLE", "0"),
        ("SELECT ''", "NULL"),
        ("SELECT 'a'", "A"),
        ("SELECT 1.0::DOUBLE", "1.00001"),
        ("SELECT 1.00::DECIMAL(5, 2)", "1.0"),
        ("SELECT 0.1::FLOAT", "0.101"),
        ("SELECT true", "0"),
        ("SELECT 'abc'", "<REGEX>:b"),
        ("SELECT 'abc'", "<!REGEX>:.*b.*"),
        ("SELECT 1 WHERE false", "1"),
        ("VALUES (1), (2)", "1"),
        ("VALUES (1), (2)", "2\n1"),
    ],
)
def test_a_wrong_value_fails(run, query, expected):
    rejected(run, f"query I\n{query}\n----\n{expected}\n", "wrong rows")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 0.1::DOUBLE + 0.2::DOUBLE", "0.3"),
        ("SELECT 'nan'::DOUBLE", "nan"),
        ("SELECT '-infinity'::DOUBLE", "-inf"),
        ("SELECT true", "1"),
        ("SELECT 'abc' || chr(10) || 'def'", "<REGEX>:a.*f"),
        ("SELECT 'abc'", "<!REGEX>:b"),
        ("SELECT 'NULL'", "NULL"),
    ],
)
def test_a_right_value_in_another_spelling_passes(run, query, expected):
    run(f"query I\n{query}\n----\n{expected}\n")


def test_failure_tells_place_query_and_difference(run, tmp_path):
    with pytest.raises(sqllogic.Mismatch) as failure:
        run("statement ok\nSELECT 1\n\nforeach n 4 5\n\nquery I\nSELECT ${n}\n----\n4\n\nendloop\n")
    message = str(failure.value)
    assert message.startswith(f"{tmp_path / 'case.test'}:6 [n=5]\n\nSELECT 5\n")
    assert "\n-4\n+5" in message


def test_sort_modes(run):
    run("query IT rowsort\nVALUES (2, 'b'), (1, 'a')\n----\n1\ta\n2\tb\n")
    rejected(run, "query II rowsort\nVALUES (2, 1)\n----\n1\t2\n", "wrong rows")


def test_valuesort_compares_all_values_in_order(run):
    run("query II valuesort\nVALUES (2, 1), (0, 3)\n----\n1\t2\n3\t0\n")
    rejected(run, "query II valuesort\nVALUES (2, 1)\n----\n2\t2\n", "wrong rows")


def test_column_count_is_checked(run):
    rejected(run, "query II\nSELECT 1\n----\n1\n", "returns 1 columns, but `query II` says 2")
    rejected(run, "query II\nSELECT 1, 2\n----\n1 2\n", "has 1 values separated by tabs")


def test_labels_compare_queries(run):
    run("query I rowsort same\nVALUES (1), (2)\n\nquery I rowsort same\nVALUES (2), (1)\n")
    rejected(run, "query I nosort same\nSELECT 1\n\nquery I nosort same\nSELECT 2\n", "wrong rows")
    rejected(run, "query I nosort same\nSELECT 1\n\nquery II nosort same\nSELECT 1, 2\n", "wrong rows")


def test_statement_ok_fails_on_an_error(run):
    rejected(run, "statement ok\nSELECT * FROM nothing\n", "failed, but should succeed")


def test_query_fails_on_an_error(run):
    rejected(run, "query I\nSELECT * FROM nothing\n----\n1\n", "failed, but should return rows")


def test_statement_error(run):
    run("statement error\nSELECT * FROM nothing\n----\nTable with name nothing does not exist\n")
    run("statement error\nSELECT * FROM nothing\n----\n<REGEX>:Catalog Error.*nothing.*\n")
    rejected(run, "statement error\nSELECT 1\n----\nnothing\n", "succeeded, but should fail")
    rejected(run, "statement error\nSELECT * FROM nothing\n----\nsomething else\n", "wrong error")
    rejected(run, "statement error\nSELECT * FROM nothing\n----\n<REGEX>:nothing\n", "wrong error")


def test_an_internal_error_is_no_expected_error():
    error = duckdb.InternalException("INTERNAL Error: column x")
    with pytest.raises(sqllogic.Mismatch, match="internal error"):
        sqllogic.Runner.check_error(error, "column x")
    sqllogic.Runner.check_error(error, "INTERNAL Error: column x")


def test_loops_nest_and_conditions_choose(run):
    run(
        "statement ok\nCREATE TABLE t (i INT, s VARCHAR)\n\n"
        "loop i 0 3\n\nforeach s a b\n\n"
        "skipif s=b\nonlyif i=2\nstatement ok\nINSERT INTO t VALUES (${i}, '${s}')\n\n"
        "endloop\n\nendloop\n\n"
        "query IT\nFROM t\n----\n2\ta\n"
    )


def test_connections_have_transactions_of_their_own(run):
    run(
        "statement ok\nCREATE TABLE t AS SELECT 1 AS i\n\n"
        "statement ok con1\nBEGIN\n\n"
        "statement ok con1\nINSERT INTO t VALUES (2)\n\n"
        "query I\nSELECT count(*) FROM t\n----\n1\n\n"
        "query I nosort con1\nSELECT count(*) FROM t\n----\n2\n"
    )


def test_load_and_restart(run):
    run(
        "load __TEST_DIR__/some.db\n\n"
        "statement ok\nCREATE TABLE t AS SELECT 1 AS i\n\nstatement ok\nCREATE TEMP TABLE u AS SELECT 1 AS i\n\n"
        "restart\n\nquery I\nFROM t\n----\n1\n\n"
        "statement error\nFROM u\n----\ndoes not exist\n\n"
        "load {TEMP_DIR}/some.db readonly\n\n"
        "statement error\nDROP TABLE t\n----\nread-only\n"
    )
    rejected(run, "restart\n", "lose everything")


def test_require_fails_without_the_extension(run):
    run("require parquet\n\nstatement ok\nSELECT 1\n")
    rejected(run, "require no_such_extension\n", "cannot be loaded")


def test_variants_set_the_setting_everywhere(run):
    run(
        "# variants: threads=1,2 preserve_insertion_order=false\n\n"
        "query T con1\nSELECT current_setting('preserve_insertion_order')\n----\nfalse\n\n"
        "onlyif threads=1\nquery I\nSELECT current_setting('threads')\n----\n1\n\n"
        "onlyif threads=2\nquery I\nSELECT current_setting('threads')\n----\n2\n\n"
        "load {TEMP_DIR}/x.db\n\nrestart\n\n"
        "onlyif threads=2\nquery I\nSELECT current_setting('threads')\n----\n2\n"
    )
    rejected(
        run,
        "# variants: threads=1,2\n\nquery I\nSELECT current_setting('threads')\n----\n1\n",
        r"\[threads=2\]",
    )


def test_a_variant_that_runs_nothing_fails(run):
    rejected(run, "# variants: threads=1,2\n\nonlyif threads=1\nstatement ok\nSELECT 1\n", "no statement or query")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("statement maybe\nSELECT 1\n", ":1: statement is followed by ok or error"),
        ("\nstatement error\nSELECT 1\n", ":2: statement error needs"),
        ("statement error\nSELECT 1\n----\n", ":1: statement error needs"),
        ("statement ok\n", "no SQL"),
        ("statement ok\nSELECT 1\n----\n1\n", "expects nothing"),
        ("query I\nSELECT 1\n", "a query needs"),
        ("query\nSELECT 1\n", "query takes 1 to 3 arguments"),
        ("mode skip\n", "unknown command 'mode'"),
        ("loop i 0 2\n\nstatement ok\nSELECT 1\n", "not closed"),
        ("endloop\n", "closes a loop"),
        ("loop i 0 x\n\nendloop\n", "two numbers"),
        ("loop i 0 1\n\nloop i 0 1\n\nendloop\n\nendloop\n", "already the name"),
        ("onlyif x=1\nstatement ok\nSELECT 1\n", "of a variant or an enclosing loop"),
        ("statement ok\nSELECT 1\n\nskipif x=1\n", "of a variant or an enclosing loop"),
        ("# variants: threads\n", "a variant is written"),
        ("# variants: no_such_setting=1\n\nstatement ok\nSELECT 1\n", "neither a setting"),
    ],
)
def test_a_malformed_file_is_refused(run, text, message):
    malformed(run, text, message)


def test_pytest_reports_a_failing_file(tmp_path):
    """The whole way through pytest: one file passes in one variant and fails in the other."""
    lane = Path(sqllogic.__file__).parent
    (tmp_path / "conftest.py").write_text((lane / "conftest.py").read_text())
    (tmp_path / "case.test").write_text(
        "# variants: threads=1,2\n\nquery T\nSELECT current_setting('threads')\n----\n1\n"
    )
    paths = f"pythonpath={lane} {ROOT / 'python'} {ROOT / 'scripts'}"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        paths,
        "--rootdir",
        tmp_path,
        tmp_path,
    ]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 1
    assert "1 failed, 1 passed" in finished.stdout
    assert f"{tmp_path / 'case.test'}:3 [threads=2]" in finished.stdout
