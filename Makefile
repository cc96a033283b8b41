# The one door for people; thin over SwiftPM. `make` alone builds.

PREFIX ?= /usr/local
CASES ?= 100000
SEED ?= 1
SIZE ?= 1000000
SOURCES = Package.swift Sources Plugins Tests Examples

.PHONY: build test check format lint widths fuzz fuzz-check fuzz-csv sanitize model formats faults lines zoo examples bench bench-peers \
  manual install environment

build:            ## builds tabella and the shipped providers
	swift build -c release

test:             ## runs the tests
	swift test

# .ci/run adds formats, faults, command lines, the zoo and benchmarks.
check: lint build test examples fuzz-check  ## lint, tests, examples, a minute of fuzzing

format:           ## formats the Swift code in place
	swift format format --in-place --recursive $(SOURCES)

lint:             ## checks the format of the code, and the prose of documents and comments
	swift format lint --strict --recursive $(SOURCES)
	Tests/Prose/run
	Tests/Prose/run --comments Sources Plugins Tests Examples

widths:           ## writes the table of widths again, from Debian's unicode-data
	Sources/TabellaTerminal/Unicode/make-widths

fuzz: fuzz-csv    ## that, and 10 million executions over what workers and files of providers say
	Tests/Fuzz/run --count full --seed $(SEED)

fuzz-check:       ## a minute of the same
	Tests/Fuzz/run --count check --seed $(SEED)

fuzz-csv:         ## CASES generated CSV files against Python's csv module, from SEED
	TABELLA_CASES=$(CASES) TABELLA_SEED=$(SEED) swift test --filter CSVAgainstPythonTests

sanitize:         ## the tests with AddressSanitizer, then with ThreadSanitizer: an hour
	Tests/Sanitized/run address
	Tests/Sanitized/run thread
	Tests/Sanitized/embed

# In all views, or with VIEW=plain in one.
model:            ## CASES sequences of 20 batches in every view against an array model, a tenth in files
	TABELLA_SEQUENCES=$(CASES) $(if $(VIEW),TABELLA_VIEW="$(VIEW)") \
	  $(if $(SUBJECT),TABELLA_SUBJECT="$(SUBJECT)") swift test -c release \
	  -Xswiftc -enable-testing --scratch-path .build/model --filter TabellaTests.EditModelTests/in

formats: build    ## reads what tabella writes with jq, Python, a Markdown renderer, pyarrow
	Tests/Formats/run

faults: build     ## kills, errors, full disks, power cuts, races: all of them, 20 to 30 minutes
	Tests/Faults/run --count full --seed $(SEED) $(if $(WRITE),--write)
	Tests/Faults/pid-reuse --count 100

# COUNT=10000 unless it is given.
lines: build      ## COUNT random command lines from SEED: numbers, limits, environments
	Tests/Lines/run --count $(or $(COUNT),10000) --seed $(SEED)

zoo: build        ## bad providers of every kind, 1,000 damaged libraries, all of them in one host
	Tests/Zoo/run --count full --seed $(SEED) $(if $(WRITE),--write)
	Tests/Zoo/damage --count 1000 --seed $(SEED)
	Tests/Zoo/orphans --count 200 --seed $(SEED)
	rm -rf .build/zoo-house
	Tests/Zoo/run --count full --house .build/zoo-house
	TABELLA_ZOO=$(CURDIR)/.build/zoo-house swift test --filter ZooTests

examples: build   ## builds and runs the examples and compares their output
	Examples/run

VENV = .build/bench-venv

# WRITE=1 writes docs/benchmarks.md and docs/benchmark-figures.md.
bench: build      ## times tabella, its floors and its peers on SIZE rows: all cases or CASE
	.build/release/tabella-bench --size $(SIZE) $(if $(CASE),--case $(CASE)) \
	  $(if $(WRITE),--write) $(if $(wildcard $(VENV)/bin/python),--python $(VENV)/bin/python)

bench-peers:      ## duckdb and polars from PyPI, for `make bench`; names the packages of the rest
	test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	$(VENV)/bin/python -c 'import duckdb, polars' 2>/dev/null || \
	  $(VENV)/bin/pip install --quiet duckdb polars
	@echo "the other peers: apt-get install coreutils sed mawk findutils procps miller sqlite3 fd-find"

manual:           ## writes docs/cli.md and docs/tabella.1 from what the commands say of themselves
	swift build --product tabella
	.build/debug/tabella help --format markdown > docs/cli.md
	.build/debug/tabella help --format man > docs/tabella.1

SHARE = $(DESTDIR)$(PREFIX)/share
BASH_COMPLETIONS = $(SHARE)/bash-completion/completions
ZSH_COMPLETIONS = $(SHARE)/zsh/site-functions
FISH_COMPLETIONS = $(SHARE)/fish/vendor_completions.d

install: build    ## copies tabella, its libraries, headers, man page and completions under PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/tabella $(DESTDIR)$(PREFIX)/lib/tabella/providers \
	  $(DESTDIR)$(PREFIX)/include/tabella $(SHARE)/man/man1 \
	  $(BASH_COMPLETIONS) $(ZSH_COMPLETIONS) $(FISH_COMPLETIONS)
	install .build/release/tabella $(DESTDIR)$(PREFIX)/bin/
	install .build/release/tabella-worker $(DESTDIR)$(PREFIX)/libexec/tabella/
	install .build/release/libtabella-*.so $(DESTDIR)$(PREFIX)/lib/tabella/providers/
	install -m 644 Sources/CTabella/include/*.h $(DESTDIR)$(PREFIX)/include/tabella/
	install -m 644 docs/tabella.1 $(SHARE)/man/man1/
	.build/release/tabella completions bash > $(BASH_COMPLETIONS)/tabella
	.build/release/tabella completions zsh > $(ZSH_COMPLETIONS)/_tabella
	.build/release/tabella completions fish > $(FISH_COMPLETIONS)/tabella.fish

environment:      ## prints what a bug report needs
	@uname -srm; . /etc/os-release 2>/dev/null && echo "$$PRETTY_NAME" || true
	@swift --version 2>&1 | head -n 1
	@git describe --always --dirty 2>/dev/null || true
	@.build/release/tabella --version 2>/dev/null && .build/release/tabella providers || \
	  echo "tabella is not built"
