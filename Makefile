# The one door for people; thin over SwiftPM. `make` alone builds.

PREFIX ?= /usr/local
CASES ?= 100000
SEED ?= 1
SIZE ?= 1000000
SOURCES = Package.swift Sources Plugins Tests Examples

.PHONY: build test check format lint fuzz examples bench install environment

build:            ## builds tabella and the shipped providers
	swift build -c release

test:             ## runs the tests
	swift test

check: lint build test examples  ## all that CI runs, at its quick size

format:           ## formats the Swift code in place
	swift format format --in-place --recursive $(SOURCES)

lint:             ## checks the format
	swift format lint --strict --recursive $(SOURCES)

fuzz:             ## CASES generated CSV files against Python's csv module, from SEED
	TABELLA_CASES=$(CASES) TABELLA_SEED=$(SEED) swift test --filter CSVAgainstPythonTests

examples: build   ## builds and runs the examples and compares their output
	Examples/run

bench: build      ## times tabella beside coreutils and procps on SIZE rows
	python3 Tests/Bench/bench.py --rows $(SIZE)

install: build    ## copies tabella, its libraries and the headers under PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/tabella/providers \
	  $(DESTDIR)$(PREFIX)/include/tabella
	install .build/release/tabella $(DESTDIR)$(PREFIX)/bin/
	install .build/release/libtabella-*.so $(DESTDIR)$(PREFIX)/lib/tabella/providers/
	install -m 644 Sources/CTabella/include/*.h $(DESTDIR)$(PREFIX)/include/tabella/

environment:      ## prints what a bug report needs
	@uname -srm; . /etc/os-release 2>/dev/null && echo "$$PRETTY_NAME" || true
	@swift --version 2>&1 | head -n 1
	@git describe --always --dirty 2>/dev/null || true
	@.build/release/tabella --version 2>/dev/null && .build/release/tabella providers || \
	  echo "tabella is not built"
