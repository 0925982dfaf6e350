# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := build/release

.PHONY: venv build test demo bench lint format sanitize release clean

build: $(BUILD)/build.ninja
	$(BIN)/ninja -C $(BUILD)

venv: $(VENV)/ready

$(VENV)/ready: requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	echo "$(CURDIR)/python" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/merganser.pth"
	touch $@

$(BUILD)/build.ninja: $(VENV)/ready
	$(BIN)/cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja
