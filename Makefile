# SPDX-License-Identifier: BSD-3-Clause
# Sobor: everything from a fresh clone. "make help" lists the targets.

PRESET ?= release
BUILD := build/$(PRESET)
PREFIX ?= /usr/local
CTEST_ARGS ?=
RUFF := .venv/bin/ruff
C_FILES = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h')

CONFIGURE = mkdir -p $(BUILD) && \
	{ cmake --preset $(PRESET) >$(BUILD)/configure.log || { cat $(BUILD)/configure.log; exit 1; }; }

.PHONY: help setup test-setup build test demo peers install docs site format lint clean distclean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Places for tests, of which most take two: most of a short one is waiting. In the long form most
# compute, and ranks that share a processor with those of other jobs hand over in milliseconds.
AT_ONCE = $(if $(filter-out 0,$(SOBOR_TEST_LONG)),2 * $$(nproc),7 * $$(nproc) / 2)

setup: ## install what the build needs: packages, a Python environment
	@scripts/setup.sh

test-setup: ## also what the tests need: other MPIs, programs, an emulator
	@scripts/setup.sh --tests

build: ## build into build/release (PRESET=debug, coverage for others); ./sobor then runs
	@scripts/setup.sh --beside '$(CONFIGURE) && cmake --build $(BUILD) --target sobor_parts'

test: ## build and run all tests (CTEST_ARGS="-L python" for some)
	@scripts/setup.sh --tests --beside '$(CONFIGURE) && cmake --build $(BUILD)'
	@scripts/run_tests.sh $(BUILD) -j "$$(($(AT_ONCE)))" $(CTEST_ARGS)

demo: ## build what it needs, look at this machine, and time Open MPI against Sobor
	@scripts/setup.sh --demo --beside '$(CONFIGURE) && cmake --build $(BUILD) --target sobor_demo'
	@scripts/demo.sh

peers: ## install the other MPIs of the tests again
	@scripts/setup.sh --retry-peers

install: build ## install below PREFIX (/usr/local)
	@cmake --install $(BUILD) --prefix $(PREFIX)

docs: build ## write the reference pages from the tables in the code
	@.venv/bin/python -I scripts/write_reference.py

site: test-setup build ## make a site of the pages in docs/, in build/site
	@.venv/bin/python -m mkdocs build --quiet --strict --site-dir build/site

format: test-setup ## format C with clang-format and Python with ruff
	@clang-format -i $(C_FILES)
	@$(RUFF) check --quiet --fix-only --select I python scripts tests
	@$(RUFF) format --quiet python scripts tests

lint: test-setup ## check the format of C and the style of Python
	@clang-format --dry-run -Werror $(C_FILES)
	@$(RUFF) check --quiet python scripts tests
	@$(RUFF) format --quiet --check python scripts tests

clean: ## remove what was built
	@rm -rf build

distclean: clean ## remove the Python environments too
	@rm -rf .venv .peers
