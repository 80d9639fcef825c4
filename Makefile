# Everything sets up what it needs in .venv; nothing else has to be installed by hand.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
TOOLS  := "pip>=25.1" "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
NATIVE := pyproject.toml CMakeLists.txt $(shell find src/core -name '*.cpp' -o -name '*.hpp')
CPP    := $(shell find src/core -name '*.cpp' -o -name '*.hpp')

SECONDS := 300
ATTACK  :=

.PHONY: demo test fuzz test-research test-data lint format bench paper docs asan tsan coverage wheels test-wheels clean

# What a group of commands needs is installed once, and again when pyproject.toml changes.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
$(VENV)/.build-tools: | $(BIN)/python
	$(PIP) install --upgrade $(TOOLS)
	@touch $@
$(VENV)/.installed: $(NATIVE) $(VENV)/.build-tools
	$(PIP) install --no-build-isolation --editable .
	@touch $@
$(VENV)/.extra-%: pyproject.toml $(VENV)/.installed
	$(PIP) install --no-build-isolation --editable ".[$*]"
	@touch $@
$(VENV)/.group-%: pyproject.toml $(VENV)/.installed
	$(PIP) install --group $*
	@touch $@

$(VENV)/.research-extra-%: research/pyproject.toml $(VENV)/.installed
	$(PIP) install --editable "./research[$*]"
	@touch $@
$(VENV)/.research-group-%: research/pyproject.toml $(VENV)/.installed
	$(PIP) install --editable ./research --group research/pyproject.toml:$*
	@touch $@

demo: $(VENV)/.extra-plots  ## generate a bookshop, compare the models, recommend
	$(BIN)/bitfm demo

test: $(VENV)/.group-test  ## the tests of bitfm
	$(BIN)/python -m pytest --durations=10

fuzz: $(VENV)/.group-test  ## every attack, or ATTACK alone, for SECONDS; prints what came of them
	PYTHONPATH=tests $(BIN)/python tests/attacks/fuzz.py $(SECONDS) $(ATTACK)

test-research: $(VENV)/.research-group-test  ## the tests of bitfm-research
	$(BIN)/python -m pytest research

test-data: $(VENV)/.research-group-test  ## the tests on the real data sets; BITFM_DATA says where they are
	@test -d "$$BITFM_DATA" || { echo "BITFM_DATA must name the folder of the data sets; it is '$$BITFM_DATA'" >&2; exit 2; }
	$(BIN)/python -m pytest research -m data

lint: $(VENV)/.group-lint  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/edges.py src research/src
	PYTHONPATH=src:research/src $(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.group-lint  ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.research-extra-bench  ## every benchmark; BITFM_DATA says where the real data sets are
	$(BIN)/bitfm bench all

paper: $(VENV)/.research-extra-bench  ## the paper's experiments, into results/; BITFM_DATA says where the data sets are
	$(BIN)/bitfm paper --out results

docs: $(VENV)/.group-docs $(VENV)/.research-group-test  ## the manual, in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The same tests on a build with AddressSanitizer and UBSan, in a virtual environment of its own.
ASAN := .venv-asan
asan:
	$(PYTHON) -m venv $(ASAN)
	$(ASAN)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade $(TOOLS)
	$(ASAN)/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation \
	    -C cmake.define.BITFM_SANITIZE=address,undefined -C cmake.build-type=RelWithDebInfo -C build-dir=build/asan . --group test
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so.6)" \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
	    $(ASAN)/bin/python -m pytest -q -p no:cacheprovider -m "not memory" $(or $(ASAN_TESTS),tests)

# Searches while others add and remove, for SECONDS, on a build with ThreadSanitizer. That needs fixed addresses, and
# cannot stand the thread of Polars' allocator, which is started behind its back.
TSAN := .venv-tsan
tsan:
	$(PYTHON) -m venv $(TSAN)
	$(TSAN)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade $(TOOLS)
	$(TSAN)/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation \
	    -C cmake.define.BITFM_SANITIZE=thread -C cmake.build-type=RelWithDebInfo -C build-dir=build/tsan . --group test
	PYTHONPATH=tests LD_PRELOAD="$$(g++ -print-file-name=libtsan.so) $$(g++ -print-file-name=libstdc++.so.6)" \
	    TSAN_OPTIONS=exitcode=0:log_path=build/tsan/report _RJEM_MALLOC_CONF=background_thread:false \
	    setarch -R $(TSAN)/bin/python tests/attacks/races.py $(SECONDS) build/tsan/report

# The lines that the tests of bitfm reach, Python's and C++'s, with a build in a virtual environment of its own.
COVERAGE := .venv-coverage
coverage:
	$(PYTHON) -m venv $(COVERAGE)
	$(COVERAGE)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade $(TOOLS) "coverage>=7.10" "gcovr>=8.4"
	$(COVERAGE)/bin/python -m pip --disable-pip-version-check --quiet install --no-build-isolation \
	    -C cmake.define.BITFM_COVERAGE=ON -C build-dir=build/coverage --editable . --group test
	find build/coverage -name '*.gcda' -delete
	$(COVERAGE)/bin/coverage erase
	$(COVERAGE)/bin/coverage run -m pytest -q -p no:cacheprovider -m "not memory" $(COVERAGE_TESTS)
	$(COVERAGE)/bin/coverage combine --quiet
	$(COVERAGE)/bin/coverage report --skip-covered --precision=1 --sort=cover
	$(COVERAGE)/bin/gcovr --root . --filter src/core/ --merge-lines --gcov-suspicious-hits-threshold 0 \
	    --sort uncovered-percent build/coverage

# Wheels for Linux, on x86-64 and aarch64, with the compiler that PyPI's ziglang carries. Python 3.11 builds one, a newer Python one for
# itself and all that follow; both must be there. The tests need these, and for aarch64 the Debian packages qemu-user and mmdebstrap.
PYTHONS := python3.11 python3.12
wheels: $(VENV)/.group-wheels
	$(BIN)/python tools/wheels.py build dist $(PYTHONS)
test-wheels: $(VENV)/.group-wheels  ## audit the wheels, install them in clean environments, compare their models with this build's
	$(BIN)/python tools/wheels.py test dist $(PYTHONS)

clean:
	rm -rf build dist docs/_build docs/examples $(VENV) $(ASAN) $(TSAN) $(COVERAGE) .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
