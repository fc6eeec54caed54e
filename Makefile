# Every command of a working day; `make help` lists them. All logic is in tools/.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
IMAGE ?= debian_rocm
SINCE ?=
ARGS ?=
VENV := .venv

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

image: setup ## Build IMAGE (default debian_rocm) and prove that it holds what pins.yaml says
	@tools/engine up
	@tools/engine base
	@tools/image render --check
	@tools/image build $(IMAGE) $(ARGS)
	@tools/image verify $(IMAGE)

verify: setup ## Verify the built IMAGE
	@tools/image verify $(IMAGE) $(ARGS)

render: setup ## Render the Dockerfiles from pins.yaml
	@tools/image render

check: setup ## Check pins.yaml and the rendered files; no network, nothing written
	@tools/bump_pin --check

matrix: setup ## Print the CI matrix (SINCE=REV: only what changed since)
	@tools/image matrix $(if $(SINCE),--since $(SINCE))

outdated: setup ## List pins that have moved on upstream
	@tools/bump_pin --outdated

ci-login: ## Log in to IMAGEPINS_REGISTRY as REGISTRY_USER, with REGISTRY_TOKEN from the environment
	@printenv REGISTRY_TOKEN | docker login --username "$$REGISTRY_USER" --password-stdin "$${IMAGEPINS_REGISTRY%%/*}"

ci-plan: setup ## Write what CI has to build to GITHUB_OUTPUT (SINCE=REV: also what changed since)
	@tools/image matrix $(if $(SINCE),--since $(SINCE)) --github-output "$${GITHUB_OUTPUT:-build/github-output}"

ci-image: setup ## Build IMAGE, push it where PUSH is set, and verify what was built or pushed
	@tools/image build "$$IMAGE" --load $(if $(PUSH),--push) --summary "$${GITHUB_STEP_SUMMARY:-build/summary.md}"
	@tools/image verify "$$IMAGE" --junit build/junit.xml --summary "$${GITHUB_STEP_SUMMARY:-build/summary.md}"

test: dev ## Run all tests on a real engine (ARGS='-k rccl' passes options to pytest)
	@tests/install-packages
	@tools/engine up
	@tools/engine base
	$(VENV)/bin/pytest --numprocesses auto --dist loadfile $(ARGS)

lint: dev ## Run the linters
	@tests/install-packages
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	shellcheck tools/launch tools/bump_pin tools/image tools/engine tests/install-packages .ci/run

bench: dev ## Run the benchmarks; each prints a ratio and its limit
	@tools/engine up
	@tools/engine base
	$(VENV)/bin/pip install --quiet --editable '.[bench]' --constraint tools/constraints.txt
	$(VENV)/bin/python benchmarks/run.py $(ARGS)

clean: ## Remove the virtual environment, build logs and caches (images stay)
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis

setup: $(VENV)/.setup
dev: $(VENV)/.dev

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(VENV)/.setup: pyproject.toml tools/constraints.txt $(VENV)/bin/python
	@echo "installing the tool into $(VENV)" >&2
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable . --constraint tools/constraints.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.setup
	@echo "installing what tests and linters need into $(VENV)" >&2
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]' --constraint tools/constraints.txt
	@touch $@

export IMAGE

.PHONY: help image verify render check matrix outdated ci-login ci-plan ci-image test lint bench clean setup dev
