"""The benchmark of exchange files writes and reads every relation in every format, and sees what comes back changed."""

import merganser
import pytest
import tpch

import exchange


@pytest.mark.parametrize("relation", exchange.RELATIONS)
def test_exchange_files_give_rows_and_types_back(relation, tmp_path):
    with merganser.connect() as connection:
        tpch.create_views(connection, tpch.parquet_folder(0.01))
        connection.execute(f"CREATE TABLE rows AS {exchange.RELATIONS[relation]}")
        results = exchange.measure(connection, tmp_path, rounds=1)
    assert set(results) == set(exchange.FORMATS)
    for name, result in results.items():
        lossless = name.startswith("exchange") or relation != "types"
        assert result["types_equal"] == lossless, name
        assert result["rows_equal"] or not lossless, name
        assert result["mb"] > 0
