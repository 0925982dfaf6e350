"""Run the C++ tests: load their shared object into this interpreter, as DuckDB loads the extension.

usage: run.py <merganser_test.so> [Catch2's arguments]
"""

import ctypes
import sys

import duckdb  # noqa: F401  loads DuckDB's module, against which the tests are linked


def main() -> int:
    arguments = [argument.encode() for argument in sys.argv[1:]]
    tests = ctypes.CDLL(sys.argv[1])
    return tests.merganser_run_tests(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None))


if __name__ == "__main__":
    sys.exit(main())
