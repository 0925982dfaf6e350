"""Which DuckDB the extension works with: the one that loads it, wherever it lies.

Each test looks at what a process of its own prints.
"""

import importlib.util
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

import merganser
import pytest
from make_repository import make_repository
from unbind_from_module import DYNAMIC_SECTION, NEEDED, SharedObject

MODULE = Path(importlib.util.find_spec("_duckdb").origin)
OTHER_PACKAGES = sysconfig.get_path("purelib")

# 1000 readings of 10 devices, one reading in a hundred seconds each, so every reading is a session. There is no SESSION
# without the extension.
SESSIONS = """SELECT count(DISTINCT (device, window_start)) FROM SESSION(DATA => TABLE(
    SELECT i % 10 AS device, TIMESTAMP '2026-01-01' + to_seconds(i * 10) AS time FROM range(1000) t(i))
    PARTITION BY device ORDER BY time, GAP => 1m)"""

PRELUDE = f"""
import ctypes, sys
sys.path[:0] = PATHS
EXTENSION = {str(merganser.extension_path())!r}
SESSIONS = {SESSIONS!r}

def duckdb_modules():
    lines = (line.split(maxsplit=5) for line in open("/proc/self/maps"))
    return {{line[5].strip() for line in lines if len(line) == 6 and "/_duckdb." in line[5]}}

def stock(**config):
    import duckdb
    return duckdb.connect(config={{"allow_unsigned_extensions": "true", **config}})

class SecondDuckDB:
    # DuckDB's C functions, in a module that Python has not imported.
    def __init__(self, module):
        self.functions = ctypes.CDLL(module)
        self.functions.duckdb_result_error.restype = ctypes.c_char_p
        config, database, self.connection = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        assert self.functions.duckdb_create_config(ctypes.byref(config)) == 0
        assert self.functions.duckdb_set_config(config, b"allow_unsigned_extensions", b"true") == 0
        assert self.functions.duckdb_open_ext(None, ctypes.byref(database), config, None) == 0
        assert self.functions.duckdb_connect(database, ctypes.byref(self.connection)) == 0

    def execute(self, sql):
        result = ctypes.create_string_buffer(1024)  # larger than a duckdb_result
        if self.functions.duckdb_query(self.connection, sql.encode(), result):
            return self.functions.duckdb_result_error(result).decode()
        self.functions.duckdb_value_int64.restype = ctypes.c_int64
        return self.functions.duckdb_value_int64(result, ctypes.c_uint64(0), ctypes.c_uint64(0))
"""


def outcome(code: str, *paths: Path | str) -> str:
    """What a new Python prints that finds packages in `paths` only."""
    program = PRELUDE.replace("PATHS", repr([str(path) for path in paths])) + code
    finished = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory) -> Path:
    """A folder with DuckDB as `pip install --target` leaves it."""
    folder = tmp_path_factory.mktemp("target") / "some packages"
    for package in (MODULE.parent / "duckdb", *MODULE.parent.glob("duckdb-*.dist-info")):
        shutil.copytree(package, folder / package.name)
    shutil.copy(MODULE, folder)
    return folder


def test_the_file_names_no_module_of_duckdb_and_marks_what_comes_from_one():
    extension, module = (SharedObject(path.read_bytes()) for path in (merganser.extension_path(), MODULE))
    entries = (struct.unpack_from("<QQ", extension.content, at) for at in extension.entries(DYNAMIC_SECTION, 16))
    needed = {extension.text(DYNAMIC_SECTION, value) for tag, value in entries if tag == NEEDED}
    assert "libstdc++.so.6" in needed
    assert not any("duckdb" in name for name in needed)
    marked = extension.marked()
    assert "_ZN6duckdb10Connection9InterruptEv" in marked
    assert marked <= module.defined() - extension.defined()
    assert not {"dlsym", "memcpy", "pthread_create"} & marked


def test_load_into_a_duckdb_that_lies_elsewhere(elsewhere):
    printed = outcome(
        "con = stock()\n"
        "con.execute(f\"LOAD '{EXTENSION}'\")\n"
        "print(con.execute(SESSIONS).fetchall(), duckdb_modules())",
        elsewhere,
    )
    assert printed == f"[(1000,)] { {str(elsewhere / MODULE.name)} }\n"


def test_install_and_load_by_name(elsewhere, tmp_path):
    printed = outcome(
        f"con = stock(extension_directory={str(tmp_path)!r})\n"
        "con.execute(f\"INSTALL '{EXTENSION}'\")\n"
        'con.execute("LOAD merganser")\n'
        "print(con.execute(SESSIONS).fetchall())",
        elsewhere,
    )
    assert printed == "[(1000,)]\n"
    assert len(list(tmp_path.glob("**/merganser.duckdb_extension"))) == 1


def test_install_by_name_from_a_repository_of_ones_own(elsewhere, tmp_path):
    place = make_repository(merganser.extension_path(), tmp_path / "repository")
    assert place == tmp_path / "repository" / "v2.0.1" / "linux_amd64" / "merganser.duckdb_extension.gz"
    printed = outcome(
        f"con = stock(extension_directory={str(tmp_path / 'installed')!r})\n"
        f"con.execute(\"SET custom_extension_repository = '{tmp_path / 'repository'}'\")\n"
        "con.execute('INSTALL merganser')\n"
        "con.execute('LOAD merganser')\n"
        "installed = \"FROM duckdb_extensions() SELECT installed_from WHERE extension_name = 'merganser'\"\n"
        "print(con.execute(SESSIONS).fetchall(), con.execute(installed).fetchall())",
        elsewhere,
    )
    assert printed == f"[(1000,)] [('{tmp_path / 'repository'}',)]\n"


def test_only_an_extension_goes_into_a_repository(tmp_path):
    file = tmp_path / "merganser.duckdb_extension"
    file.write_bytes(merganser.extension_path().read_bytes()[:-1])
    with pytest.raises(SystemExit, match="does not end with the footer of a DuckDB extension"):
        make_repository(file, tmp_path / "repository")
    assert not (tmp_path / "repository").exists()


def test_package_and_duckdb_in_several_site_packages(elsewhere, tmp_path):
    shutil.copytree(Path(merganser.__file__).parent, tmp_path / "merganser")
    if not (tmp_path / "merganser" / merganser.extension_path().name).exists():  # MERGANSER_EXTENSION names it
        shutil.copy(merganser.extension_path(), tmp_path / "merganser")
    printed = outcome(
        "import merganser\n"
        "con = merganser.connect()\n"
        "print(con.execute(SESSIONS).fetchall(), duckdb_modules(), merganser.__file__)",
        tmp_path,
        elsewhere,
        OTHER_PACKAGES,
    )
    file = tmp_path / "merganser" / "__init__.py"
    assert printed == f"[(1000,)] { {str(elsewhere / MODULE.name)} } {file}\n"


def test_a_second_duckdb_is_refused_and_may_load_a_copy(elsewhere, tmp_path):
    copy = shutil.copy(merganser.extension_path(), tmp_path / "merganser.duckdb_extension")
    second = elsewhere / MODULE.name
    printed = outcome(
        "con = stock()\n"
        "con.execute(f\"LOAD '{EXTENSION}'\")\n"
        f"second = SecondDuckDB({str(second)!r})\n"
        "print(second.execute(f\"LOAD '{EXTENSION}'\"))\n"
        f"print(second.execute(\"LOAD '{copy}'\"))\n"
        "print(second.execute(SESSIONS), con.execute(SESSIONS).fetchall(), len(duckdb_modules()))",
        OTHER_PACKAGES,
    )
    refusal, loaded, rows = printed.splitlines()
    assert f"a second DuckDB in this process, {second}, loads {merganser.extension_path()}" in refusal
    assert f"which works with the first, {MODULE}. Use one DuckDB for both" in refusal
    assert loaded == "0"
    assert rows == "1000 [(1000,)] 2"


def test_a_duckdb_that_lacks_a_function_is_refused_before_anything_runs(tmp_path):
    extension = merganser.extension_path().read_bytes()
    lacking = tmp_path / "merganser.duckdb_extension"
    name, other = b"_ZN6duckdb10Connection9InterruptEv\0", b"_ZN6duckdb10Connection9InterrupsEv\0"
    assert name in extension
    lacking.write_bytes(extension.replace(name, other))
    printed = outcome(
        "con = stock()\n"
        "import duckdb\n"
        "try:\n"
        f"    con.execute(\"LOAD '{lacking}'\")\n"
        "except duckdb.Error as error:\n"
        "    print(error)\n"
        "con.execute(f\"LOAD '{EXTENSION}'\")\n"
        "print(con.execute(SESSIONS).fetchall())",
        OTHER_PACKAGES,
    )
    refusal, rows = printed.splitlines()
    assert f"is built for DuckDB v2.0.1 on linux_amd64, but the DuckDB that loads it, {MODULE}" in refusal
    assert "does not offer its extensions _ZN6duckdb10Connection9InterrupsEv" in refusal
    assert rows == "[(1000,)]"


def test_functions_are_called_only_once_duckdb_has_loaded_the_extension():
    printed = outcome(
        "import merganser\n"
        "from merganser import native\n"
        "print(merganser.last_query())\n"
        "image = ctypes.CDLL(EXTENSION)\n"
        "print(merganser.last_query(), image.merganser_is_bound() & 1)\n"
        "try:\n"
        "    native.library(merganser.extension_path())\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
        "con = merganser.connect(runner='local')\n"
        "print(merganser.last_query(), image.merganser_is_bound() & 1)\n",
        Path(merganser.__file__).parents[1],
        OTHER_PACKAGES,
    )
    unopened, opened, refusal, loaded = printed.splitlines()
    assert unopened == "None"
    assert opened == "None 0"
    assert refusal == f"no DuckDB of this process has loaded {merganser.extension_path()}; merganser.connect() does"
    assert loaded == "None 1"
