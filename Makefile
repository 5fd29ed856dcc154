# The two commands: `make profile` and `make test`. Each does all its own set-up from a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: profile test test-all coverage shuffle fuzz mutants replay accept record generate check lint types docs format ledger browser clean

profile: $(STAMP)
	$(BIN)/priorscope profile digits --out report

test: $(STAMP) browser
	$(BIN)/python -m pytest -n 2 --dist loadscope

test-all: $(STAMP) browser
	$(BIN)/python -m pytest -n 2 --dist loadscope -m "slow or not slow"

# Which lines of the library the suite runs: a table here, the lines themselves in htmlcov/.
coverage: $(STAMP) browser
	$(BIN)/python -m pytest -n 2 --dist loadscope --cov=priorscope --cov-report=term:skip-covered --cov-report=html

# The suite in another order, language and time zone, with two threads, no compiled code at hand and a home that cannot be written.
shuffle: $(STAMP) browser
	PRIORSCOPE_SHUFFLE=$(SEED) LC_ALL=C LANG=tr_TR.UTF-8 TZ=Asia/Kathmandu OMP_NUM_THREADS=2 HOME=/proc \
	  NUMBA_CACHE_DIR=$$(mktemp -d) $(BIN)/python -m pytest -n 2 --dist loadscope -p no:cacheprovider

# Random files, kernels, modules and commands: each ends in a right answer or one clear line.
fuzz: $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "slow or not slow" tests/fuzz

# Faults injected one by one: which of them do neither the recorded calls nor the nearest tests notice?
SEED ?= 0
COUNT ?= 150
mutants: $(STAMP)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e faults
	PYTHONPATH=tools $(BIN)/python -m faults --count $(COUNT) --seed $(SEED)

# What every function gave, call by call: `replay` makes the calls again and tells what moved, `accept ROOM=models.layers` writes
# what moved there, `generate ROOM=…` adds calls made from signatures, `record [ROOM=…]` watches the suite (or TESTS=tests/models)
# and keeps calls anew.
WATCHED ?= .watched
TESTS ?= tests
replay: $(STAMP)
	PYTHONPATH=tools $(BIN)/python -m recorder replay $(ROOM)

accept: $(STAMP)
	PYTHONPATH=tools $(BIN)/python -m recorder accept $(ROOM)

generate: $(STAMP)
	PYTHONPATH=tools $(BIN)/python -m recorder generate $(ROOM)

record: $(STAMP)
	PYTHONPATH=tools RECORD_TO=$(WATCHED) $(BIN)/python -m pytest -n 2 --dist loadscope -p recorder._watch $(TESTS) || true
	PYTHONPATH=tools $(BIN)/python -m recorder choose $(WATCHED) $(ROOM)

check: lint types docs test

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The verdicts of the local store into claims/ledger.json, and from there into README's table.
ledger: $(STAMP)
	$(BIN)/priorscope claims --record --json >/dev/null
	$(BIN)/python tools/readme_claims.py

# Chromium drives the tests of the report page; Debian's package is used when no browser is there.
browser:
	@command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || \
	  echo "no Chromium and none could be installed: the page tests will be skipped" >&2

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist site report .pytest_cache .mypy_cache .ruff_cache
