# Every task of the project. `make` alone lists them.
# The work is done by the scripts in scripts/; each of them also runs by itself, from any folder.

.DEFAULT_GOAL := help
SHELL := bash

.PHONY: help install build check test test-all test-pythons lint fmt demo docs bench soak sanitize wheel binaries clean

help: ## list every task
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## install what is missing: system packages, .venv (in ~/.cache/headrace), tools in build/tools
	@scripts/install.sh

build: ## build the engine, as it ships and with the memory checks of debug builds
	@scripts/install.sh system
	@scripts/build.sh

check: ## the inner loop: format, vet, quick tests; a minute with warm caches. Installs nothing, and says what is missing
	@scripts/install.sh missing
	@scripts/test.sh check

test: ## install what is missing, then run every check and every test once
	@scripts/install.sh system python tools docs commands
	@scripts/test.sh

test-all: test ## everything that test does, and each test in the other builds, sanitizers, models, wheels, TensorFlow, every Python
	@scripts/install.sh wheel tensorflow spdl packing stores metrics trackers browser
	@scripts/test.sh rest

test-pythons: ## the tests of functions, sources and headrace.io on every Python from 3.10 on that is found here
	@scripts/install.sh system python
	@scripts/build.sh
	@scripts/pythons.sh

lint: ## only the checks that run nothing: format, vet, static analysis, types
	@scripts/install.sh
	@scripts/lint.sh

fmt: ## rewrite Go and Python sources in their standard format
	@scripts/install.sh
	@scripts/fmt.sh

demo: ## load real photographs from Python; writes a contact sheet to look at
	@scripts/install.sh system
	@scripts/install.sh demo
	@scripts/build.sh engine
	@examples/demo/demo.sh

docs: ## build the guide into build/site, and check every link in it and in the repository's pages
	@scripts/install.sh system
	@scripts/install.sh docs
	@scripts/docs.sh

bench: ## measure this loader beside the others, on a quiet machine (minutes)
	@scripts/install.sh
	@scripts/build.sh engine
	@bench/bench.sh

soak: ## the long versions of the tests, HOURS=1 of models and a minute for each fuzz target; goes on where it was interrupted
	@scripts/install.sh
	@scripts/soak.sh

sanitize: ## the C code under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install.sh system
	@scripts/sanitize.sh

wheel: ## build wheels for any Linux, x86-64 and arm64, in build/dist
	@scripts/install.sh system wheel
	@scripts/wheel.sh

binaries: wheel ## and archives of the command alone, with and without C
	@scripts/binaries.sh

clean: ## remove everything that was built or installed inside this tree
	rm -rf bin build .venv .demo python/dist python/src/headrace/_bin python/src/headrace/_av
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
