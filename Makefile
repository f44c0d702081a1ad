# `make` lists the targets. PYTHON chooses the interpreter for .venv: Python 3.10 to 3.13; TORCH a build of PyTorch:
# cpu, cu130 …, or auto for the one that suits this machine's GPU (default: what is there, else the one for the CPU).

PYTHON ?= python3
BIN := .venv/bin
SESSION ?= config/sessions/language_table_demo.yaml
JAZZY := test/graph/test_sessions.py test/graph/test_tabletop.py test/graph/test_other_worlds.py \
         test/graph/test_watchdog.py test/graph/test_simulation_client.py -m "not long"
MIXED := test/graph/test_other_distribution.py

# A sourced ROS workspace has its own Python packages and libraries; .venv is complete without them.
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH LD_LIBRARY_PATH PYTHONPATH
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE
# A session is eight processes: each would compile all that it imports, each time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-jazzy bench campaign docs docs-all site wheels lock clean

help:  ## list the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## make .venv with what the demo needs (again only where something changed); PURPOSE=robot, tests: with more
	@command -v "$(PYTHON)" > /dev/null || { echo "setup: there is no $(PYTHON) here; choose a Python 3.10 to 3.13: make setup PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" scripts/setup_environment.py $(PURPOSE)

demo: setup  ## run an evaluation session in simulation; SESSION=<file> chooses another
	@$(BIN)/robocontrast evaluate "$(SESSION)"

test: PURPOSE := tests
test: setup  ## run the linter, the import contracts, and a test of every promise
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pytest --numprocesses 3 --dist worksteal -m "not long"

test-long: PURPOSE := tests
test-long: setup  ## run what `make test` leaves out, and every property with its full number of examples
	$(BIN)/pytest --numprocesses 3 --dist worksteal -m "long or hypothesis" --hypothesis-profile full

test-jazzy: export ROS_DISTRIBUTION := jazzy
test-jazzy: PURPOSE := tests
test-jazzy: setup  ## run a session of each kind on the wheels of ROS 2 Jazzy, in .venv-jazzy
	.venv-jazzy/bin/pytest $(JAZZY)
	ROBOCONTRAST_OTHER_PYTHON=.venv/bin/python .venv-jazzy/bin/pytest $(MIXED)
	ROBOCONTRAST_OTHER_PYTHON=.venv-jazzy/bin/python .venv/bin/pytest $(MIXED)

bench: setup  ## time the graph against the same loop without ROS
	@$(BIN)/python benchmark/graph_overhead.py

campaign: PURPOSE := tests
campaign: setup  ## measure how long it takes to stop the robot after a fault (root: network namespaces)
	@$(BIN)/python -m benchmark.stop_times

docs: PURPOSE := tests
docs: setup  ## measure again what takes under five minutes, and put all results into the documents
	@$(BIN)/python -m scripts.documents make

docs-all: PURPOSE := tests
docs-all: setup  ## the same with what takes longer; interrupted, it goes on
	@$(BIN)/python -m scripts.documents make --long

site: setup  ## build the documentation site into build/site/html
	@$(BIN)/python -m scripts.site
	@$(BIN)/uv tool run --quiet zensical==0.0.73 build --strict

wheels: setup  ## build the wheels of an installation without ROS into dist/
	@$(BIN)/python -m scripts.wheels

lock:  ## renew requirements.lock from requirements.in (needs uv)
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-header --no-emit-package torch \
	  --upgrade --quiet requirements.in --output-file requirements.lock
	uv pip compile --universal --python-version 3.10 --generate-hashes --no-header --no-emit-package torch \
	  --upgrade --quiet requirements.in requirements-jazzy.in --overrides requirements-jazzy-overrides.txt \
	  --output-file requirements-jazzy.lock

clean:  ## remove .venv and everything that was built
	rm -rf .venv .venv-jazzy build dist install log
