"""FFT, LOWPASS, HIGHPASS and XCORR against numpy."""

import math

import duckdb
import merganser
import numpy
import pytest

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 16, 31, 97, 100, 1000, 1024, 2049, 4097, 65536, 65521]


@pytest.fixture
def connection():
    with merganser.connect() as opened:
        yield opened


def series(length: int, seed: int) -> numpy.ndarray:
    return numpy.random.default_rng(seed).normal(size=length)


def load(connection, **columns) -> None:
    rows = numpy.arange(len(next(iter(columns.values()))))
    connection.register("arrays", dict(t=rows, **columns))
    connection.execute("CREATE TABLE signal AS FROM arrays")
    connection.unregister("arrays")


def fetch(connection, call: str) -> list[numpy.ndarray]:
    columns = connection.execute(f"FROM {call}").fetchnumpy()
    return [values for name, values in columns.items() if name != "t"]


@pytest.mark.parametrize("length", LENGTHS)
def test_fft_is_the_transform_of_numpy(connection, length):
    a, b = series(length, 1), series(length, 2) * 1e6
    load(connection, a=a, b=b)
    index, frequency, a_real, a_imag, b_real, b_imag = fetch(
        connection, "FFT(DATA => TABLE(signal) ORDER BY t, TIMECOL => 't', SAMPLE_INTERVAL => 2)"
    )
    assert (index == numpy.arange(length)).all()
    numpy.testing.assert_allclose(frequency, numpy.fft.fftfreq(length, 2), rtol=1e-13)
    for values, real, imag in ((a, a_real, a_imag), (b, b_real, b_imag)):
        expected = numpy.fft.fft(values)
        tolerance = 1e-14 * max(1.0, math.log2(length)) * numpy.abs(expected).max() * 4
        numpy.testing.assert_allclose(real, expected.real, rtol=0, atol=tolerance)
        numpy.testing.assert_allclose(imag, expected.imag, rtol=0, atol=tolerance)


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("length", [3, 50, 100, 128, 300])
def test_fft_pads_truncates_and_scales(connection, norm, length):
    values = series(100, 3)
    load(connection, v=values)
    real, imag = fetch(
        connection, f"FFT(DATA => TABLE(signal) ORDER BY t, TIMECOL => 't', N => {length}, NORM => '{norm}')"
    )[2:]
    numpy.testing.assert_allclose(real + 1j * imag, numpy.fft.fft(values, length, norm=norm), rtol=0, atol=1e-12)


@pytest.mark.parametrize("function", ["LOWPASS", "HIGHPASS"])
@pytest.mark.parametrize("edge", [0.05, 0.5, 0.99])
@pytest.mark.parametrize("length", [1, 2, 3, 10, 11, 1000, 1025])
def test_filters_clear_bins(connection, function, edge, length):
    values = series(length, 4)
    load(connection, v=values)
    [actual] = fetch(connection, f"{function}(DATA => TABLE(signal) ORDER BY t, TIMECOL => 't', WPASS => {edge})")
    spectrum = numpy.fft.fft(values)
    if function == "LOWPASS":
        first = math.ceil(edge * length / 2)
        spectrum[first : length - first + 1] = 0
    else:
        last = math.floor(edge * length / 2)
        spectrum[: last + 1] = 0
        spectrum[length - last :] = 0
    numpy.testing.assert_allclose(actual, numpy.fft.ifft(spectrum).real, rtol=0, atol=1e-13 * length)


@pytest.mark.parametrize("length", [1, 2, 5, 300, 2500])
def test_xcorr_is_the_correlation_of_numpy(connection, length):
    a, b = series(length, 5), series(length, 6)
    a[length // 2] = math.nan
    load(connection, a=a, b=b)
    [actual] = fetch(connection, "XCORR(DATA => TABLE(signal) ORDER BY t, TIMECOL => 't')")
    valid = numpy.isfinite(a)
    pairs = numpy.round(numpy.correlate(valid.astype(float), numpy.ones(length), "full"))
    sums = numpy.correlate(numpy.where(valid, a, 0), b, "full")
    actual = numpy.ma.filled(actual, math.nan)
    assert (numpy.isnan(actual) == (pairs == 0)).all()
    present = pairs > 0
    numpy.testing.assert_allclose(actual[present], sums[present] / pairs[present], rtol=0, atol=1e-12)


@pytest.mark.parametrize("call", ["FFT({} ORDER BY time)", "LOWPASS({} ORDER BY time, 'time', 0.5)"])
def test_values_count_against_the_memory_limit(tmp_path, call):
    config = {"memory_limit": "60MB", "threads": "1", "temp_directory": str(tmp_path / "spill")}
    columns = ", ".join(f"i + {n} AS c{n}" for n in range(100))
    with merganser.connect(config=config) as small:
        query = f"SELECT count(*) FROM {call.format(f'(SELECT i AS time, {columns} FROM range(60000) r(i))')}"
        with pytest.raises(duckdb.OutOfMemoryException):
            small.execute(query).fetchall()
