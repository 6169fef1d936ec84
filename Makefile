# `make demo` runs the demonstration, `make test` runs all tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

TRIALS ?= 3

.PHONY: demo test test-pythons faults ha bench clean

demo: $(VENV)/.installed
	@$(BIN)/jackpot demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-pythons:
	.ci/test-pythons

# Every kind of fault, TRIALS times each, as root; writes docs/reliability.json and docs/reliability.md.
faults: $(VENV)/.installed-test $(VENV)-ha/.installed
	$(BIN)/python -m tests.faults --trials $(TRIALS) --keep-going
	$(BIN)/python -m tests.faults.ha --trials $(TRIALS)

# PostgreSQL under Patroni, as root: one kill and one switch-over, with two controllers.
ha: $(VENV)/.installed-test $(VENV)-ha/.installed
	$(BIN)/python -m tests.faults.ha --trials 1 --kinds switchover kill --any-time --results build/ha.json

bench: $(VENV)/.installed-test
	$(BIN)/python bench/evaluator.py
	$(BIN)/python bench/store.py
	$(BIN)/python bench/hot_path.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[embedded]'
	@touch $@

$(VENV)/.installed-test: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[embedded,test]'
	@touch $@ $(VENV)/.installed

$(VENV)-ha/.installed: deploy/ha/requirements.txt
	$(PYTHON) -m venv $(VENV)-ha
	$(VENV)-ha/bin/python -m pip install --quiet --disable-pip-version-check --requirement deploy/ha/requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-ha .venv-3.* build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
