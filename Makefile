# Every command that people and CI use. 'make' alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080
MODELS ?= demo
FOLDER ?=
PRECISION ?= auto

.PHONY: help install run export demo prepare-test test lint bench bench-peers tune mutants format clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

REQUIREMENTS := $(wildcard frontend/requirements*.txt model_repository/requirements.txt scripts/*/requirements*.txt)

$(VENV)/installed: $(REQUIREMENTS)
	@echo "installing into $(VENV) (the first time takes some minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install -r frontend/requirements.txt -r scripts/export_models/requirements.txt
	@for file in frontend/requirements-nodeps.txt scripts/local_triton/requirements.txt scripts/export_models/requirements-nodeps.txt; do \
	  $(BIN)/python -m pip install --no-deps -r $$file || exit 1; done
	@touch $@

$(VENV)/installed-tests: $(VENV)/installed tests/requirements.txt
	@$(BIN)/python -m pip install -r tests/requirements.txt
	@touch $@

$(VENV)/installed-clients: $(VENV)/installed tests/clients/requirements.txt tests/clients/node/package.json
	@$(PYTHON) -m venv $(VENV)/clients
	@$(VENV)/clients/bin/python -m pip install --quiet --no-deps -r tests/clients/requirements.txt
	@mkdir -p $(VENV)/clients/node && cp tests/clients/node/package.json $(VENV)/clients/node
	@cd $(VENV)/clients/node && PATH="$(abspath $(VENV)/clients/bin):$$PATH" npm install --no-package-lock --no-audit --no-fund --silent
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed scripts/benchmark/requirements.txt
	@$(BIN)/python -m pip install -r scripts/benchmark/requirements.txt
	@touch $@

$(VENV)/installed-peers-%: $(VENV)/installed-bench scripts/benchmark/peers/requirements-%.txt
	@$(PYTHON) -m venv $(VENV)/peers-$*
	@$(VENV)/peers-$*/bin/python -m pip install --quiet --upgrade pip
	@$(VENV)/peers-$*/bin/python -m pip install -r scripts/benchmark/peers/requirements-$*.txt
	@touch $@

install: $(VENV)/installed ## make the virtual environment with everything to run and export

run: $(VENV)/installed ## start Triton and the frontend; PORT=8080 MODELS=demo|hub|folder FOLDER=path PRECISION=auto|int8|fp32
	@$(BIN)/python -m scripts.run --end-with-parent --port $(PORT) --models $(MODELS) $(if $(FOLDER),--folder $(FOLDER)) --precision $(PRECISION)

export: $(VENV)/installed ## export MODELS into model_repository
	@$(BIN)/python -m scripts.export_models --source $(MODELS) $(if $(FOLDER),--folder $(FOLDER)) --precision $(PRECISION)

lint: $(VENV)/installed-tests ## ruff and mypy strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@cd model_repository/whisper_turbo/1 && ../../../$(BIN)/mypy --config-file ../../../pyproject.toml features.py transcript.py first_step.py encoders.py recognizer.py
	@cd scripts/local_triton/backends/onnxruntime && ../../../../$(BIN)/mypy --explicit-package-bases --config-file ../../../../pyproject.toml checks.py batching.py session.py watch.py

$(VENV)/installed-browser: tests/requirements.txt
	@command -v chromium >/dev/null || { echo "installing Chromium, for the tests of the dashboard"; \
	  $(if $(filter-out 0,$(shell id -u)),sudo -n) sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium' >/dev/null; } \
	  || { echo "the tests of the dashboard need Chromium: apt-get install chromium" >&2; exit 1; }
	@mkdir -p $(VENV) && touch $@

demo: $(VENV)/installed
	@$(BIN)/python -m scripts.export_models --source demo

prepare-test: lint demo $(VENV)/installed-clients $(VENV)/installed-browser

test: $(VENV)/installed-tests ## lint, export the demo models, and every test, those against a real Triton included
	@$(MAKE) --no-print-directory --output-sync -j 3 prepare-test
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m "not triton and not alone"
	@$(BIN)/python -m pytest -m "triton or alone"

bench: $(VENV)/installed-bench ## measure every operation under load; BENCH="--operations embeddings --callers 16 --seconds 20"
	@$(BIN)/python -m scripts.export_models --source $(MODELS) $(if $(FOLDER),--folder $(FOLDER)) --precision $(PRECISION)
	@$(BIN)/python -m scripts.benchmark $(BENCH)

tune: $(VENV)/installed-bench ## sweep a model's settings for a latency target; TUNE="--model m3_embedder --p95 1.0"
	@$(BIN)/python -m scripts.export_models --source $(MODELS) $(if $(FOLDER),--folder $(FOLDER)) --precision $(PRECISION)
	@$(BIN)/python -m scripts.benchmark.tune $(TUNE)

bench-peers: $(VENV)/installed-peers-text $(VENV)/installed-peers-audio demo ## beside infinity, sentence-transformers, faster-whisper and Piper's server; PEERS="--cases speech"
	@$(BIN)/python -m scripts.benchmark.peers $(PEERS)

mutants: $(VENV)/installed-tests demo ## put faults of one line in and see which test notices; MUTANTS="--only frontend/usage"
	@$(BIN)/python -m tests.mutants $(MUTANTS)

format: $(VENV)/installed-tests ## put the code into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clean: ## remove exported weights and build files, not the virtual environment
	@rm -rf build
	@find model_repository -path '*/1/*' -type f ! -name '*.py' ! -name .gitkeep -delete
