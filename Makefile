# Kubemoot. `make` lists what there is.

PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
HOST ?= 127.0.0.1
RUN = $(VENV)/bin/python
# What ARGS choose may lie in one half alone; 5 is how pytest says that it found no test.
NONE_IS_FINE = $(if $(ARGS),|| [ $$? -eq 5 ])
READ_PYPROJECT = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]

.DEFAULT_GOAL := help
.PHONY: help setup up demo test test-parts test-whole check lint format chromium pictures clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | awk -F '\t' '{printf "  make %-10s %s\n", $$1, $$2}'

up: $(VENV)/runtime.txt ## set up what is missing, then run everything (PORT=8000 HOST=127.0.0.1)
	@$(RUN) manage.py up --host $(HOST) --port $(PORT)

demo: $(VENV)/runtime.txt ## the same with two simulated GPUs and two crews that talk
	@KUBEMOOT_DATA=$${KUBEMOOT_DATA:-data/demo} $(RUN) manage.py up --demo --host $(HOST) --port $(PORT)

test: $(VENV)/test.txt chromium ## set up what is missing, then run every test, browser tests too: two halves at a time
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-parts test-whole

test-parts: $(VENV)/test.txt
	@$(RUN) -m pytest --ignore tests/e2e $(ARGS) $(NONE_IS_FINE)

test-whole: $(VENV)/test.txt chromium # whole installations, clients and a browser: it waits most of the time
	@$(RUN) -m pytest tests/e2e $(ARGS) $(NONE_IS_FINE)

check: lint ## style, types, floors, and the tests that need no browser
	@$(RUN) -m pytest -m "not e2e" $(ARGS)

lint: $(VENV)/test.txt ## style, types and floors alone
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy kubemoot_web scheduler providers
	@$(VENV)/bin/lint-imports

format: $(VENV)/test.txt ## put the code into shape
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

setup: $(VENV)/test.txt chromium ## set up everything and run nothing

pictures: $(VENV)/test.txt chromium ## take the README's pictures of the board, of the running demo
	@$(RUN) -m tests.pictures

clean: ## remove the virtual environment and the caches, never the data
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Kubemoot needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@echo "Making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/runtime.txt: pyproject.toml | $(VENV)/bin/python
	@$(RUN) -c '$(READ_PYPROJECT); print(*project["dependencies"], sep="\n")' > $@.new
	@echo "Installing packages (once; a minute or so)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r $@.new
	@mv $@.new $@

$(VENV)/test.txt: pyproject.toml $(VENV)/runtime.txt
	@$(RUN) -c '$(READ_PYPROJECT); print(*project["optional-dependencies"]["test"], sep="\n")' > $@.new
	@echo "Installing the packages of the tests (once)"
	@$(RUN) -m pip install --quiet --disable-pip-version-check -r $@.new
	@$(RUN) -c 'import pathlib, sysconfig; pathlib.Path(sysconfig.get_path("purelib"), "kubemoot.pth").write_text("$(CURDIR)\n")'
	@mv $@.new $@

chromium: # the browser tests drive Debian's own browser
	@command -v chromium > /dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo "Installing chromium"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	  else \
	    echo "The browser tests need chromium: apt-get install chromium (as root), or your system's package of that name."; exit 1; \
	  fi; }
