# A thin front of the Meson build. `make help` lists the targets.

BUILD ?= build
PREFIX ?= /usr/local
MESON ?= meson
NINJA ?= ninja

all: $(BUILD)/build.ninja ## build hotcell into build/hotcell
	@$(NINJA) -C $(BUILD)

demo: setup-demo all ## build, then see hostile programs held, and a server and functions fuzzed
	@examples/demo $(BUILD)/hotcell

test: setup-test ## prove everything, as root and as an ordinary user; ends in "N passed, N failed"
	@tools/test.sh

check: setup-check ## what to run while working: build, checks, units, corpora, and every verb once
	@tools/test.sh --check

test-long: setup-test ## the same, with the long tests (thousands of cells)
	@tools/test.sh --long

bench: setup-bench all ## measure the cost of a cell beside plain spawns and other sandboxes
	@bench/run $(BUILD)/hotcell

asan: setup-test ## build with AddressSanitizer and UBSan, and run the tests against that
	@tools/test.sh --asan

install: all ## install below PREFIX (default /usr/local); DESTDIR is honoured
	@$(MESON) configure $(BUILD) -Dprefix=$(PREFIX)
	@$(MESON) install -C $(BUILD)

clean: ## remove everything built
	rm -rf $(BUILD) build-*

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

setup-demo setup-check setup-test setup-bench:
	@tools/setup.sh $(@:setup-%=%)

$(BUILD)/build.ninja:
	@command -v $(MESON) >/dev/null || { echo "meson is missing: 'make demo' or 'tools/setup.sh demo' installs it" >&2; exit 1; }
	@echo "configuring $(BUILD)"; said=$$($(MESON) setup $(BUILD) 2>&1) || { echo "$$said" >&2; exit 1; }

.PHONY: all demo test check test-long bench asan install clean help setup-demo setup-check setup-test setup-bench
