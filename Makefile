# Every command that people and CI use. 'make' alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080
MODELS ?= demo
FOLDER ?=
VOICES_FOLDER ?=
PRECISION ?= auto
STRICT ?=
FACTS ?=
STATE ?= build
# Some images set this, and then every start would compile all libraries again.
unexport PYTHONDONTWRITEBYTECODE

# A misspelt variable would be ignored. Settings and what programs read from the environment may be given here too.
VARIABLES := PYTHON PORT MODELS FOLDER VOICES_FOLDER PRECISION STRICT FACTS STATE FIT PROCESSORS BENCH TUNE PEERS MUTANTS SOAK FUZZ AUDIT DOCS RELEASE APT VENV
GIVEN := $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
ENVIRONMENT := QUARTET_% HF_% PIP_% UV_% OMP_% %_proxy %_PROXY %_ENDPOINT TEST_% CUDA_VISIBLE_DEVICES TMPDIR SHELL SSL_CERT_% REQUESTS_CA_BUNDLE XDG_% LANG LC_%
ifneq ($(filter-out $(VARIABLES) $(ENVIRONMENT) MAKE%,$(GIVEN)),)
$(error there is no variable $(firstword $(filter-out $(VARIABLES) $(ENVIRONMENT) MAKE%,$(GIVEN))); there are $(VARIABLES) and settings such as QUARTET_THREADS)
endif

.PHONY: help check-python install run export demo prepare-test test-triton test-torch test-together test-contract test fuzz test-lab lint bench bench-peers tune mutants soak lock newest sbom audit docs release documents pictures format clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

# Any Python must be able to read this, also one that is too old.
PYTHON_FITS := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))
CHOICE = --models '$(MODELS)' --folder '$(FOLDER)' --precision '$(PRECISION)' --strict '$(STRICT)' --facts '$(FACTS)' --voices-folder '$(VOICES_FOLDER)'
OWN = --port '$(PORT)' --state '$(STATE)'
# The Python of the virtual environment, or PYTHON while there is none.
ANY_PYTHON = $$(test -x $(BIN)/python && echo $(BIN)/python || echo '$(PYTHON)')
INSTALL = $(ANY_PYTHON) -m scripts.install
EXPORT = $(BIN)/python -m scripts.run.export $(CHOICE)
# A server that is measured at an address has its own models.
ELSEWHERE = $(findstring --url,$(BENCH) $(TUNE))

check-python:
	@test -x $(BIN)/python || '$(PYTHON)' -c '$(PYTHON_FITS)' 2>/dev/null || { \
	  version=$$('$(PYTHON)' --version 2>/dev/null) && is="is $$version" || is='cannot be run'; \
	  echo "Quartet needs Python 3.11 or 3.12, and PYTHON=$(PYTHON) $$is" >&2; exit 2; }
	$(if $(filter file,$(origin PYTHON)),,@test ! -x $(BIN)/python || { \
	  there=$$($(BIN)/python --version) && wanted=$$('$(PYTHON)' --version) && test "$${there%.*}" = "$${wanted%.*}"; } || { \
	  echo "$(VENV) has $$there, not the $${wanted:-Python} of PYTHON=$(PYTHON): remove $(VENV), or leave out PYTHON" >&2; exit 2; })

# The checks run before anything is installed. -S leaves out site packages, which a broken environment could not import.
check-%: check-python
	@$(ANY_PYTHON) -S -m scripts.run.preflight $* $(CHOICE) $(if $(filter run,$*),$(OWN))

$(VENV)/base: scripts/install/requirements.txt
	@$(MAKE) --no-print-directory check-python
	@$(INSTALL) base
	@touch $@

PRODUCT := $(wildcard frontend/requirements.txt model_repository/requirements.txt scripts/*_*/requirements*.txt)

$(VENV)/installed: $(VENV)/base $(PRODUCT) pyproject.toml
	@$(INSTALL) product
	@touch $@

$(VENV)/installed-tests: $(VENV)/installed tests/requirements.txt
	@$(INSTALL) tests
	@touch $@

$(VENV)/installed-fuzz: $(VENV)/installed-tests tests/fuzz/requirements.txt
	@$(INSTALL) fuzz
	@touch $@

$(VENV)/installed-audit: $(VENV)/base scripts/install/requirements-audit.txt
	@$(INSTALL) audit
	@touch $@

$(VENV)/installed-manual: $(VENV)/base scripts/install/requirements-manual.txt
	@$(INSTALL) manual
	@touch $@

$(VENV)/installed-clients: $(VENV)/base tests/clients/requirements.txt tests/clients/node/package.json
	@$(INSTALL) clients
	@touch $@

$(VENV)/installed-lab: $(VENV)/installed-tests lab/requirements.txt
	@$(INSTALL) lab
	@touch $@

$(VENV)/installed-peers-%: $(VENV)/installed-lab lab/peers/requirements-%.txt
	@$(INSTALL) peers-$*
	@touch $@

install: $(VENV)/installed ## make the virtual environment with everything to run and export
	@:

run: check-run ## start Triton and the frontend; PORT=8080 MODELS=demo|hub|folder FOLDER=path VOICES_FOLDER=path PRECISION=auto|int8|bf16|fp32 STRICT=1 FACTS=file STATE=build FIT=threads=4
	@$(MAKE) --no-print-directory install
	@$(BIN)/python -m scripts.run --end-with-parent $(CHOICE) $(OWN)

export: check-export ## export MODELS into model_repository
	@$(MAKE) --no-print-directory install
	@$(EXPORT)
	@$(BIN)/python -m scripts.run.known_answers $(CHOICE)

# What mypy read for all is not read again for the models, which are checked from their own folders.
lint: export MYPY_CACHE_DIR := $(CURDIR)/.mypy_cache
lint: $(VENV)/installed-tests $(VENV)/installed-clients ## ruff, mypy strict, TypeScript's checker for the pages, and the docs' language and links
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m scripts.prose
	@$(BIN)/mypy
	@PATH=$(VENV)/clients/bin:$$PATH $(VENV)/clients/node/node_modules/.bin/tsc -p frontend/pages/jsconfig.json
	@cd model_repository/whisper_turbo/1 && ../../../$(BIN)/mypy --config-file ../../../pyproject.toml features.py engines.py threads.py languages.py alignment.py search.py tokens.py transcript.py windows.py graphs.py openvino_engine.py ctranslate_engine.py encoding.py loading.py recognizer.py
	@cd model_repository/m3_embedder/1 && ../../../$(BIN)/mypy --config-file ../../../pyproject.toml graphs.py blocks.py texts.py
	@cd model_repository/kokoro/1 && ../../../$(BIN)/mypy --config-file ../../../pyproject.toml graphs.py speaker.py

# Only APT=1 installs programs of the system. The tests of a missing one are skipped, and say so.
APT ?=
AS_ROOT = $(if $(filter-out 0,$(shell id -u)),sudo -n)
LEFT_OUT = echo "no $(1) here: the tests of $(2) will be left out (APT=1 installs it with apt-get)" >&2

.PHONY: browser prometheus
browser: $(VENV)/installed-tests
	@$(BIN)/python -m tests.tools browser >/dev/null || \
	  { [ -n '$(APT)' ] && $(AS_ROOT) sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium' >/dev/null; } || \
	  $(call LEFT_OUT,Chromium or Chrome,the pages)

# Unpacked and not installed, so that Debian starts no service.
prometheus: $(VENV)/installed-tests
	@$(BIN)/python -m tests.tools prometheus >/dev/null || \
	  { [ -n '$(APT)' ] && cd $(VENV) && { apt-get download -qq prometheus 2>/dev/null || \
	    { $(AS_ROOT) apt-get update -qq && apt-get download -qq prometheus; }; } && \
	    dpkg-deb -x prometheus_*.deb prometheus && rm prometheus_*.deb; } || \
	  $(call LEFT_OUT,Prometheus,rules and dashboards)

demo: $(VENV)/installed
	@$(BIN)/python -m scripts.run.export

prepare-test: demo $(VENV)/installed-tests $(VENV)/installed-clients browser prometheus

# Tests that start Triton run in one process and tests that load torch in another, so that each happens once. The output
# of each process is printed at its end. Those that load torch run beside the export of the demo.
TRITON_TESTS := tests/triton tests/browser/test_playground.py
TORCH_TESTS := $(addprefix tests/unit/,export_models whisper m3 kokoro)
WITHOUT = $(patsubst %,--ignore=%,$(1))
PYTEST = OMP_NUM_THREADS=1 $(NICE) $(BIN)/python -m pytest
# Those with Triton wait for one process after the other, so they would be the last.
test-torch test-together test-contract: NICE := nice -n 5
MARKS := not alone
test-contract: MARKS := not contract_only
PRINT_AT_THE_END = @mkdir -p build && $(PYTEST) -q -m "$(MARKS)" -o cache_dir=build/$@.cache $(1) > build/$@.log 2>&1; \
	  status=$$?; cat build/$@.log; exit $$status

test-triton: prepare-test
	$(call PRINT_AT_THE_END,$(TRITON_TESTS))

test-torch: $(VENV)/installed-tests
	$(call PRINT_AT_THE_END,$(TORCH_TESTS))

# What the contract says of the operations, which holds with every extension on and beside added models too.
CONTRACT_TESTS := $(patsubst %,tests/http/test_%.py,transcriptions speech embeddings rerank mobile errors aliases billing)

# Three processes, because many tests wait, and no more, because each reads all tests first. In the order of the folders
# the longest files, with few tests each, come first. With restarts of a worker that crashed, pytest-xdist waits for ever.
test-together: prepare-test
	@$(PYTEST) -n 3 --max-worker-restart=0 --dist loadfile --no-loadscope-reorder -m "not alone" $(call WITHOUT,$(TRITON_TESTS) $(TORCH_TESTS))

test-contract: export TEST_EXTENSIONS := all
test-contract: export TEST_ADDED_MODELS := 1
test-contract: prepare-test
	$(call PRINT_AT_THE_END,$(CONTRACT_TESTS))

# The tests' packages come first: they may replace a version that the export, which runs during other installs, imports.
test: check-python ## lint, export the demo models, and every test, also those with a real Triton; APT=1 installs a browser and Prometheus
	@$(MAKE) --no-print-directory $(VENV)/installed-tests
	@$(MAKE) --no-print-directory -j 4 test-triton test-torch lint test-together test-contract
	@$(PYTEST) -q -m alone $$(grep -rl --include='test_*.py' 'mark\.alone' tests)

fuzz: $(VENV)/installed-fuzz ## random files, requests, bytes and histories, for an hour; FUZZ="--minutes 60 --seed 3 --only files"
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(FUZZ)

bench: $(if $(ELSEWHERE),check-python,check-export) ## measure every operation under load; BENCH="--operations embeddings --callers 16 --seconds 20"
	@$(MAKE) --no-print-directory install
	@$(if $(ELSEWHERE),,$(EXPORT))
	@$(BIN)/python -m scripts.benchmark $(BENCH)

tune: $(if $(ELSEWHERE),check-python,check-export) ## sweep a model's settings for a latency target; TUNE="--model m3_embedder --p95 1.0 --apply"
	@$(MAKE) --no-print-directory install
	@$(if $(ELSEWHERE),,$(EXPORT))
	@$(BIN)/python -m scripts.benchmark.product.tune $(TUNE)


bench-peers: $(VENV)/installed-peers-text $(VENV)/installed-peers-audio $(VENV)/installed-peers-engines demo ## compare with infinity, faster-whisper, OpenVINO and others; PEERS="--cases speech"
	@$(BIN)/python -m lab.peers $(PEERS)

test-lab: $(VENV)/installed-lab ## the tests of the lab, which 'make test' leaves out
	@$(PYTEST) -q lab/tests

mutants: $(VENV)/installed-lab demo ## change the core in one place at a time and see which changes tests notice; MUTANTS="--only frontend/dispatch --sample 40"
	@$(BIN)/python -m lab.mutants $(MUTANTS)

soak: demo $(VENV)/installed-tests ## call everything for an hour while parts are killed, frozen and away; SOAK="--minutes 60 --seed 1"
	@$(BIN)/python -m tests.soak $(SOAK)

lock: $(VENV)/base ## write the requirements files, with hashes, from the versions of pyproject.toml
	@$(BIN)/python -m scripts.install.lock

newest: $(VENV)/installed-tests ## ask the package index for newer versions than those of pyproject.toml, for docs/dependencies.md
	@$(BIN)/python -m scripts.dependencies
	@$(BIN)/python -m scripts.documents

sbom: $(VENV)/installed $(VENV)/installed-audit ## list what each part installs, with licences, as CycloneDX in build/sbom
	@$(BIN)/python -m scripts.audit list

audit: $(VENV)/installed-audit ## ask OSV and npm for known vulnerabilities of all locked packages; AUDIT="--osv-url https://mirror/v1/query"
	@$(BIN)/python -m scripts.audit ask $(AUDIT)

docs: $(VENV)/installed-manual ## build the manual, with search, for a web server or a browser alone; DOCS="--into /srv/manual"
	@$(VENV)/manual/bin/python -m scripts.manual $(DOCS)

release: $(VENV)/base ## prepare a version, or tag and build what was prepared; RELEASE="prepare 1.1.0", then RELEASE=make
	@$(BIN)/python -m scripts.release $(RELEASE)

documents: $(VENV)/installed-tests ## regenerate the tables of docs that come from the code
	@$(BIN)/python -m scripts.documents

pictures: $(patsubst %.dot,%.svg,$(wildcard docs/pictures/*.dot)) ## draw docs/pictures, with Graphviz and Chromium
	@$(BIN)/python -m tests.browser.pictures

# Each picture ends with a digest of its source, by which a test notices a picture that is out of date.
docs/pictures/%.svg: docs/pictures/%.dot
	@dot -Tsvg $< > $@ && echo "<!-- $$(sha256sum < $< | cut -d' ' -f1) -->" >> $@ || { rm -f $@; exit 1; }

format: $(VENV)/installed-tests ## format the code
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Git keeps a file in the folder of each voice of the catalogue.
clean: ## remove exported weights and build files, not the virtual environment
	@test ! -f build/models.lock || flock --nonblock build/models.lock true \
	  || { echo "a Quartet of this folder runs on its models; stop it first" >&2; exit 2; }
	@find model_repository -maxdepth 1 -name 'piper_*' ! -exec test -f {}/1/.gitkeep \; -exec rm -rf {} +
	@rm -rf build model_repository/added_* model_repository/*/configs/machine.pbtxt model_repository/*/configs/gpus.pbtxt
	@find model_repository -path '*/1/*' -type f ! -name '*.py' ! -name .gitkeep -delete
