"""Remove each guard, verification and order check of ours in turn, and see a test fail.

usage: check_mutations.py [--list] [NAME ...]

A check that no test misses is not held by the tests, whatever they assert. Each mutation in MUTATIONS takes one check
out of a source file, builds that file and runs the tests named beside it: one of them has to fail. They have to pass
before, because a test that fails anyway shows nothing. A mutation whose text is no longer in its file is an error, so
that the table follows the code.

The files of the checkout are never written: a copy of the sources (build/mutated) is changed and built there. So a
run may be stopped or killed at any time; the next one begins with a fresh copy. The tests are the checkout's.

Not part of `make test`: a mutation takes about a minute.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from built_once import ROOT
from rich.console import Console
from rich.table import Table

TREE = ROOT / "build" / "mutated"
#: Lies to the copy as the checkout's build lies to the checkout: for a compiler cache the unchanged files are the same.
BUILD = TREE / "build" / "release"
EXTENSION = BUILD / "merganser.duckdb_extension"
#: What the build reads.
COPIED = ("CMakeLists.txt", "cmake", "scripts", "src", "test/cpp")


@dataclass(frozen=True)
class Mutation:
    #: What is no longer checked.
    name: str
    path: str
    #: Stands in the file exactly once.
    text: str
    replacement: str
    #: Arguments of pytest; with `cpp` a tag of the C++ tests.
    tests: tuple[str, ...]
    cpp: str = ""


LATE = "test/sql/late_materialization"
GROUPING = ("test/sql/grouping", "test/python/grouping/test_random_orders.py")
STAGES = "test/python/stages"
KEYS = "test/python/keys"
SENT = f"{STAGES}/test_sent_rows.py"

MUTATIONS = [
    Mutation(
        "a row finds none in the join-back",
        "src/late_materialization/join_back_guard.cpp",
        "if (!excused && !found.validity.RowIsValid(found.sel->get_index(i))) {",
        "if (false && (!excused && !found.validity.RowIsValid(found.sel->get_index(i)))) {",
        (LATE,),
    ),
    Mutation(
        "a row that is not NULL-supplied finds none in the join-back",
        "src/late_materialization/join_back_guard.cpp",
        "auto excused = sought_column.IsValid() && !sought.validity.RowIsValid(sought.sel->get_index(i));",
        "auto excused = sought_column.IsValid();",
        (LATE,),
    ),
    Mutation(
        "a row comes twice out of the join-back",
        "src/late_materialization/join_back_guard.cpp",
        "			if (gstate.seen[number]) {",
        "			if (false && (gstate.seen[number])) {",
        (LATE, KEYS),
    ),
    Mutation(
        "a row finds none in the join-back of a stage",
        "src/stages/join_back_check.cpp",
        """		return found + " IS NULL";""",
        """		return "false";""",
        (f"{STAGES}/test_late_materialization.py",),
    ),
    Mutation(
        "a row that is not NULL-supplied finds none in the join-back of a stage",
        "src/stages/join_back_check.cpp",
        """		return found + " IS NULL AND " + sought + " IS NOT NULL";""",
        """		return "false";""",
        (f"{STAGES}/test_late_materialization.py",),
    ),
    Mutation(
        "a row comes twice out of the join-back of a stage",
        "src/stages/join_back_check.cpp",
        """") WHEN count(*) OVER () > max(" + row_number + ") OVER () + 1 THEN error(" +""",
        """") WHEN false AND count(*) OVER () > max(" + row_number + ") OVER () + 1 THEN error(" +""",
        (f"{STAGES}/test_late_materialization.py",),
    ),
    Mutation(
        "a declared key has duplicates",
        "src/late_materialization/key_check.cpp",
        "if (counts[format.sel->get_index(i)] > 1) {",
        "if (false && (counts[format.sel->get_index(i)] > 1)) {",
        (LATE, f"{STAGES}/test_late_materialization.py"),
    ),
    Mutation(
        "a declared key is NULL",
        "src/late_materialization/key_check.cpp",
        "if (!format.validity.RowIsValid(format.sel->get_index(i))) {",
        "if (false && (!format.validity.RowIsValid(format.sel->get_index(i)))) {",
        (LATE,),
    ),
    Mutation(
        "a key of integers has duplicates",
        "src/late_materialization/key_check_by_bits.cpp",
        "		if (!bits.Insert(values[i])) {",
        "		if (!bits.Insert(values[i]) && false) {",
        (KEYS,),
    ),
    Mutation(
        "a key of integers is NULL",
        "src/late_materialization/key_check_by_bits.cpp",
        "	if (KeyValues::HasNull(column, input.size())) {",
        "	if (false && (KeyValues::HasNull(column, input.size()))) {",
        (KEYS,),
    ),
    Mutation(
        "a declared key has duplicates in a stage",
        "src/late_materialization/key_check.cpp",
        """	text += Failure(checked.back()->ToString() + " > 1", promise.DuplicateMessage()) + " ELSE false END";""",
        """	text += Failure("false", promise.DuplicateMessage()) + " ELSE false END";""",
        (f"{STAGES}/test_late_materialization.py",),
    ),
    Mutation(
        "a declared key is NULL in a stage",
        "src/late_materialization/key_check.cpp",
        """		text += Failure(checked[i]->ToString() + " IS NULL", promise.NullMessage());""",
        """		text += Failure("false", promise.NullMessage());""",
        (f"{STAGES}/test_late_materialization.py",),
    ),
    Mutation(
        "a key to be proved is NULL",
        "src/keys/key_values.cpp",
        "		if (HasNull(column, keys.size())) {",
        "		if (false && (HasNull(column, keys.size()))) {",
        (KEYS,),
    ),
    Mutation(
        "a key of integers to be proved has duplicates",
        "src/keys/key_values.cpp",
        "		if (!sparse) {",
        "		if (false && (!sparse)) {",
        (KEYS,),
    ),
    Mutation(
        "a key of other types to be proved has duplicates",
        "src/keys/key_values.cpp",
        "	return new_values < keys.size() ? KeyBreach::DUPLICATE : KeyBreach::NONE;",
        "	return new_values > keys.size() ? KeyBreach::DUPLICATE : KeyBreach::NONE;",
        (KEYS,),
    ),
    Mutation(
        "a table has changed since a key was proved",
        "src/keys/seen_data.cpp",
        "stored_rows != other->stored_rows) {",
        "(false && stored_rows != other->stored_rows)) {",
        (KEYS,),
    ),
    Mutation(
        "values have changed since a key was proved",
        "src/keys/seen_data.cpp",
        "	return result->updated ? nullptr : std::move(result);",
        "	return std::move(result);",
        (KEYS,),
    ),
    Mutation(
        "a proof has not seen all rows of a table",
        "src/keys/seen_data.cpp",
        "(!holds || rows == stored_rows);",
        "(!holds || rows <= stored_rows);",
        (KEYS,),
    ),
    Mutation(
        "a proof knows rows that are not committed",
        "src/keys/seen_data.cpp",
        "	if (LocalStorage::Get(context, table.ParentCatalog()).Find(table.GetStorage())) {",
        "	if (false && (LocalStorage::Get(context, table.ParentCatalog()).Find(table.GetStorage()))) {",
        (KEYS,),
    ),
    Mutation(
        "a file has changed since a key was proved",
        "src/keys/seen_data.cpp",
        "return a.path == b.path && a.IsSame(b); });",
        "return a.path == b.path; });",
        (KEYS,),
    ),
    Mutation(
        "a file changes while a query relies on a key proved over it",
        "src/late_materialization/join_back_promise.cpp",
        "		if (!FileSystem::IsRemoteFile(file.path) && !file.IsCurrent(context)) {",
        "		if (false && (!FileSystem::IsRemoteFile(file.path) && !file.IsCurrent(context))) {",
        (KEYS,),
    ),
    Mutation(
        "a statement writes the table whose key it would prove",
        "src/keys/key_prover.cpp",
        "table ? !written.count(table.get()) : IsReadForProofs(get);",
        "table ? true : IsReadForProofs(get);",
        (KEYS,),
    ),
    Mutation(
        "rows of an ordered window are not verified",
        "src/ordered_windows/physical_ordered_window.cpp",
        "		verification.Observe(input, partitions);",
        "",
        ("test/sql/ordered_windows", "test/python/ordered_windows"),
    ),
    Mutation(
        "a scan would send more than it may",
        "src/stages/cut_scans.cpp",
        "	if (bytes > send_bytes) {",
        "	if (false && (bytes > send_bytes)) {",
        (SENT,),
    ),
    Mutation(
        "rows that are written outgrow what may be sent",
        "src/runners/staged_query.cpp",
        "		return bytes <= most_bytes",
        "		return bytes <= most_bytes || true",
        (SENT,),
    ),
    Mutation(
        "rows that may not be sent cannot stay",
        "src/runners/staged_query.cpp",
        "	if (!why.empty()) {",
        "	if (false && (!why.empty())) {",
        (SENT, f"{STAGES}/test_attached_databases.py"),
    ),
    Mutation(
        "filters below a call hold rows back",
        "src/grouping/hold_nothing_back.cpp",
        "		op.Cast<PhysicalFilter>().caching_supported = false;",
        "		op.Cast<PhysicalFilter>().caching_supported = true;",
        GROUPING,
    ),
    Mutation(
        "filters below one partition hold rows back",
        "src/grouping/one_stream.cpp",
        "		HoldNothingBack::Everywhere(input);",
        "",
        ("test/sql/grouping/arrival.test",),
    ),
    Mutation(
        "filters below partitions without ORDER BY hold rows back",
        "src/grouping/partitioned_sort.cpp",
        "	HoldNothingBack::Everywhere(input);",
        "",
        ("test/sql/grouping/arrival.test",),
    ),
    Mutation(
        "rows of a call are out of order",
        "src/grouping/input_verification.cpp",
        "	if (row.IsValid()) {",
        "	if (false && (row.IsValid())) {",
        ("test/sql/grouping",),
    ),
    Mutation(
        "a partition comes again",
        "src/grouping/input_verification.cpp",
        "		if (before) {",
        "		if (false && (before)) {",
        ("test/sql/grouping",),
    ),
    Mutation(
        "a partition goes on in another region",
        "src/grouping/input_verification.cpp",
        "		if (continues && region.IsValid() && region != Region()) {",
        "		if (false && (continues && region.IsValid() && region != Region())) {",
        ("test/sql/grouping",),
    ),
    Mutation(
        "a block of an exchange file is damaged",
        "src/exchange/exchange_file.cpp",
        "	if (Checksum(buffer.data(), block.length) != block.checksum) {",
        "	if (false && (Checksum(buffer.data(), block.length) != block.checksum)) {",
        ("test/python/exchange",),
    ),
    Mutation(
        "the index of an exchange file is damaged",
        "src/exchange/exchange_file.cpp",
        "	if (Checksum(buffer.data(), length) != footer[1]) {",
        "	if (false && (Checksum(buffer.data(), length) != footer[1])) {",
        ("test/python/exchange",),
    ),
    Mutation(
        "an exchange file is of another attempt",
        "src/exchange/exchange_file.cpp",
        "	if (identity != expected) {",
        "	if (false && (identity != expected)) {",
        ("test/sql/exchange", "test/python/exchange"),
        "[lost_files]",
    ),
    Mutation(
        "a file is replaced before a task opens it",
        "src/stages/slice_scan.cpp",
        "		version.Check(context);",
        "		(void)version;",
        (f"{STAGES}/test_input_files.py",),
    ),
    Mutation(
        "a file is replaced while a task reads it",
        "src/exchange/exchange_copy.cpp",
        "	OpenedFiles::Check(context); // only now: rows of another version must not count",
        "",
        (f"{STAGES}/test_input_files.py",),
    ),
    Mutation(
        "a stage returns other types than planned",
        "src/stages/stage_check.cpp",
        "		if (i >= types.size() || types[i] != stage.sql_types[i]) {",
        "		if (false && (i >= types.size() || types[i] != stage.sql_types[i])) {",
        (f"{STAGES}/test_declines.py", f"{STAGES}/test_names_of_the_user.py"),
        "[stage_check]",
    ),
    Mutation(
        "another COPY writes the folder",
        "src/publishing/output_folder.cpp",
        "	if (!lock.IsHeld() || (IsOfAnotherMachine(place) && !FolderLock::IsOld(place))) {",
        "	if (false && (!lock.IsHeld() || (IsOfAnotherMachine(place) && !FolderLock::IsOld(place)))) {",
        ("test/python/publishing",),
    ),
    Mutation(
        "an exchange folder belongs to another user",
        "src/runners/process_folder.cpp",
        "	if (!is_private) {",
        "	if (false && (!is_private)) {",
        (f"{STAGES}/test_exchange_folders.py",),
    ),
    Mutation(
        "folders of living processes are removed",
        "src/runners/process_folder.cpp",
        "		if (lock.IsHeld()) {",
        "		if (lock.IsHeld() || true) {",
        (f"{STAGES}/test_exchange_folders.py",),
    ),
]


def copy_sources() -> None:
    """Writes only what differs, with the time of now, so that the build makes anew what a killed run left mutated."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *COPIED]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).exists()}
    for folder in COPIED:
        for path in (TREE / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(TREE)) not in names:
                path.unlink()
    for name in names:
        source, target = (ROOT / name).read_bytes(), TREE / name
        if not target.exists() or target.read_bytes() != source:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source)


@contextmanager
def mutated(mutation: Mutation):
    path = TREE / mutation.path
    source = path.read_text()
    if source.count(mutation.text) != 1:
        raise SystemExit(f"{mutation.name}: its text stands {source.count(mutation.text)} times in {mutation.path}")
    path.write_text(source.replace(mutation.text, mutation.replacement))
    try:
        yield
    finally:
        path.write_text(source)


def configure() -> None:
    cmake = [Path(sys.executable).parent / "cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja"]
    cmake += ["-DMERGANSER_INTO_PACKAGE=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(cmake, check=True, capture_output=True)


def build(*targets: str) -> None:
    ninja = [Path(sys.executable).parent / "ninja", "-C", BUILD, *targets]
    done = subprocess.run(ninja, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the sources do not build:\n{done.stdout[-3000:]}")


def output_of_failing_tests(tests: Iterable[str], tags: Iterable[str]) -> str:
    """Empty where the tests pass."""
    variables = os.environ | {"MERGANSER_EXTENSION": str(EXTENSION)}
    commands = [["-m", "pytest", "-x", "--quiet", "-p", "no:cacheprovider", *tests]]
    if any(tags):
        build("merganser_test")
        commands.append(["test/cpp/run.py", str(BUILD / "merganser_test.so"), ",".join(filter(None, tags))])
    for command in commands:
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=variables, capture_output=True, text=True, check=False
        )
        if done.returncode in (4, 5):  # of pytest: wrong arguments, no test
            raise SystemExit(f"none of these was run: {' '.join(command)}")
        if done.returncode:
            return done.stdout[-3000:] + done.stderr[-3000:] or str(done.returncode)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="mutations whose names contain one of these words; all by default")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    arguments = parser.parse_args()
    chosen = [m for m in MUTATIONS if not arguments.names or any(word in m.name for word in arguments.names)]
    if arguments.list:
        print("\n".join(mutation.name for mutation in chosen))
        return 0
    copy_sources()
    configure()
    build()
    tests, tags = {test for m in chosen for test in m.tests}, {m.cpp for m in chosen}
    if broken := output_of_failing_tests(sorted(tests), sorted(tags)):
        raise SystemExit(f"these fail with every check in place:\n{broken}")
    survivors = []
    table = Table("check taken out", "tests")
    for mutation in chosen:
        with mutated(mutation):
            build()
            caught = output_of_failing_tests(mutation.tests, [mutation.cpp])
        print(f"{mutation.name}: {'a test fails' if caught else 'NO TEST FAILS'}", flush=True)
        table.add_row(mutation.name, "fail" if caught else "[bold red]pass[/]")
        if not caught:
            survivors.append(mutation.name)
    Console().print(table)
    print(json.dumps({"mutations": len(chosen), "not_noticed": survivors}))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
