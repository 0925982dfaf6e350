# Two commands do everything: `make demo` and `make test`. docs/building.md and docs/testing.md explain the others.
PYTHON    ?= python3
SCALE     ?= 1
BUILD     ?= build/release
VENV      := .venv
BIN       := $(VENV)/bin
CPP       := $(shell find src test -name '*.cpp' -o -name '*.hpp')
CONFIGURE := -DCMAKE_BUILD_TYPE=Release

.PHONY: build venv demo bench test test-programs test-cpp test-python test-ray test-slow goldens \
        lint format tidy docs wheel wheels sanitize sanitize-threads release clean

build: $(BUILD)/build.ninja $(BIN)/merganser
	$(BIN)/ninja -C $(BUILD)

venv: $(VENV)/ready

$(VENV)/ready: requirements-dev.txt
	scripts/check_system_packages.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	echo "$(CURDIR)/python" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/merganser.pth"
	touch $@

# The command of a checkout, as an installation has it.
$(BIN)/merganser: $(VENV)/ready
	printf '#!%s\nfrom merganser.command_line import app\n\napp()\n' "$(CURDIR)/$(BIN)/python" > $@
	chmod +x $@

$(BUILD)/build.ninja: $(VENV)/ready
	$(BIN)/cmake -S . -B $(BUILD) -G Ninja $(CONFIGURE) \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja

demo: build
	$(BIN)/python benchmark/demo.py --scale $(SCALE)

bench: test-programs
	$(BIN)/python benchmark/late_materialization.py --quick --scale $(SCALE)
	$(BIN)/python benchmark/tpc_overhead.py --quick
	$(BIN)/python benchmark/stages.py --quick

# ---------------------------------------------------------------- tests

test: test-cpp test-python test-ray

test-programs: build
	$(BIN)/ninja -C $(BUILD) merganser_test tpch tpcds

test-cpp: test-programs
	$(BIN)/python test/cpp/run.py $(BUILD)/merganser_test.so

test-python: test-programs
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

test-ray: test-programs
	$(BIN)/python -m pytest -m "ray and not slow" test/python/ray

test-slow: test-programs
	$(BIN)/python -m pytest -m slow --hypothesis-profile long

goldens: build
	$(BIN)/python -m pytest --quiet --regenerate-goldens test/python

# ---------------------------------------------------------------- checks

lint: $(BUILD)/build.ninja
	$(BIN)/clang-format --dry-run -Werror $(CPP)
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .

tidy: build
	$(BIN)/python scripts/run_clang_tidy.py $(BUILD) src

# The documentation as a site in build/site; fails where a link, a heading or a page of the contents is missing.
docs: build/docs-venv/ready
	build/docs-venv/bin/mkdocs build --strict --quiet

build/docs-venv/ready: requirements-docs.txt
	$(PYTHON) -m venv build/docs-venv
	build/docs-venv/bin/python -m pip install --quiet --requirement requirements-docs.txt
	touch $@

# What `make build` compiled, as a wheel in build/wheels.
wheels: build
	$(BIN)/python scripts/build_wheel.py $(BUILD)/merganser.duckdb_extension build/wheels

wheel: wheels
	$(BIN)/python scripts/check_wheel.py build/wheels/*.whl

format: $(VENV)/ready
	$(BIN)/clang-format -i $(CPP)
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

# A build for clients other than Python. The first run builds DuckDB itself; see docs/building.md.
release: $(VENV)/ready
	nice $(BIN)/python scripts/build_release.py

# The fast lane under the address and undefined-behaviour sanitizers; what runs in several threads under the thread sanitizer.
sanitize: SANITIZER := address
sanitize: SANITIZERS := address,undefined
sanitize-threads: SANITIZER := thread
sanitize-threads: SANITIZERS := thread
sanitize sanitize-threads: test-programs
	$(MAKE) BUILD=build/$(SANITIZER) build \
	  CONFIGURE="-DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' -DMERGANSER_SANITIZE=$(SANITIZERS) -DMERGANSER_INTO_PACKAGE=OFF"
	$(BIN)/ninja -C build/$(SANITIZER) merganser_test
	$(BIN)/python scripts/run_sanitized.py build/$(SANITIZER) $(SANITIZER)

clean:
	rm -rf build python/merganser/merganser.duckdb_extension
