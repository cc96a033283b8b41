# The one door for people; thin over SwiftPM. `make` alone builds.

PREFIX ?= /usr/local
CASES ?= 100000
SEED ?= 1
SIZE ?= 1000000
SOURCES = Package.swift Sources Plugins Tests Examples

.PHONY: build test test-full check format lint widths fuzz fuzz-check fuzz-csv sanitize model kernel formats faults lines zoo examples bench bench-peers \
  shapes live versions python sqlite many wheel wheel-check bench-python bench-sqlite bench-engines \
  manual docs install uninstall deb install-check environment

build:            ## builds tabella and the shipped providers
	swift build -c release

test:             ## runs the tests
	swift test

test-full:        ## runs the tests with many more random cases, and with every combination of views and roads
	TABELLA_CASES=10000 TABELLA_NAMES=1000 TABELLA_ALL_ROADS=1 swift test

# .ci/run adds formats, live tables, faults, command lines, the zoo and benchmarks.
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
	Tests/Sanitized/python

# In all views, or with VIEW=plain in one.
model:            ## CASES sequences of 20 batches in every view against an array model, a tenth in files
	TABELLA_SEQUENCES=$(CASES) $(if $(VIEW),TABELLA_VIEW="$(VIEW)") \
	  $(if $(SUBJECT),TABELLA_SUBJECT="$(SUBJECT)") swift test -c release \
	  -Xswiftc -enable-testing --scratch-path .build/model --filter TabellaTests.EditModelTests/in

kernel:           ## compares the versions of the scanning kernel, with those that this machine cannot run
	Tests/Kernel/run $(CASES) $(SEED)

formats: build    ## reads what tabella writes with jq, Python, a Markdown renderer, pyarrow
	Tests/Formats/run

faults: build     ## kills, errors, full disks, power cuts, races: all of them, 20 to 30 minutes
	Tests/Faults/run --count full --seed $(SEED) $(if $(WRITE),--write)
	Tests/Faults/pid-reuse --count 100

live: build       ## follows folders, files, logs and processes while they change: about three minutes
	Tests/Live/run --count 10000 --seed $(SEED)
	Tests/Live/rotations --seconds 20

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

versions: build   ## two providers with different versions of the SDK in one process
	Tests/Versions/run --count 300 --seed $(SEED)

examples: build   ## builds and runs the examples and compares their output
	Examples/run

VENV = .build/bench-venv
PYTHON_VENV = .build/python-venv
COMPARE_SQLITE = $(PYTHON_VENV)/bin/python Tests/SQLite/bench --rows $(SIZE) $(if $(WRITE),--write)
COMPARE_PYTHON = $(PYTHON_VENV)/bin/python Tests/Python/bench --rows $(SIZE) $(if $(WRITE),--write)

# WRITE=1 writes docs/benchmarks.md and docs/benchmark-figures.md, and docs/python-benchmarks.md if there are Python packages.
# The last lines are a summary on one screen, with a mark for each missed aim.
bench: build      ## times tabella, floors, peers, Python packages and SQLite on SIZE rows: all cases or CASE
	$(if $(CASE),,$(if $(wildcard $(PYTHON_VENV)/bin/python),$(COMPARE_PYTHON) && $(COMPARE_SQLITE)))
	Sources/Packaging/stage
	.build/release/tabella-bench --tabella .build/stage/tree/bin/tabella --size $(SIZE) $(if $(CASE),--case $(CASE)) \
	  $(if $(WRITE),--write) $(if $(wildcard $(VENV)/bin/python),--python $(VENV)/bin/python)

bench-peers:      ## duckdb and polars from PyPI, for `make bench`; names the packages of the rest
	test -x $(VENV)/bin/python || python3 -m venv $(VENV)
	$(VENV)/bin/python -c 'import duckdb, polars' 2>/dev/null || \
	  $(VENV)/bin/pip install --quiet duckdb polars
	@echo "the other peers: apt-get install coreutils diffutils fd-find findutils htop mawk miller procps ripgrep sed sqlite3"

# The program is measured as it is installed, like its peers. COUNT=100 shapes unless it is given. The figures also go
# to .build/shapes/figures.json. ANSWERS=1 compares answers without times, in a tenth of the time.
shapes: build bench-peers  ## times tabella and its peers on COUNT shapes of CSV files from SEED: over an hour
	$(VENV)/bin/python -c 'import numpy, pyarrow' 2>/dev/null || \
	  $(VENV)/bin/pip install --quiet numpy pyarrow
	Sources/Packaging/stage
	$(VENV)/bin/python -B Tests/Shapes/run --tabella .build/stage/tree/bin/tabella --count $(or $(COUNT),100) --seed $(SEED) \
	  $(if $(ANSWERS),--answers,--json .build/shapes/figures.json)

python: build     ## tests the Python package; compares pyarrow, pandas, polars and DuckDB with tabella
	Tests/Python/run
	Tests/Python/matrix

# COUNT=1000 random tables and transactions unless it is given.
sqlite: build     ## tests the extension for SQLite from SEED: rows, constraints, edits, errors
	Tests/SQLite/run --count $(or $(COUNT),1000) --seed $(SEED)

many: build       ## reads 1 GB in tasks, and asks simulated hosts, in Apache Spark: about ten minutes; needs Java
	Tests/Spark/run --all

wheel-check: wheel  ## installs and tests the wheel without the Swift toolchain; needs root
	Tests/Python/wheel .build/wheel/tabella-*.whl

# WRITE=1 writes docs/python-benchmarks.md.
bench-python: build  ## times Python packages with tabella, and with their own readers, on SIZE rows
	test -x $(PYTHON_VENV)/bin/python || Tests/Python/matrix
	$(COMPARE_PYTHON)

# WRITE=1 writes docs/sqlite-benchmarks.md.
bench-sqlite: build  ## times the extension for SQLite, and SQLite's own table for CSV files, on SIZE rows
	$(PYTHON_VENV)/bin/python -c 'import apsw' 2> /dev/null || Tests/Python/matrix
	$(COMPARE_SQLITE)

# WRITE=1 writes the figures of docs/engines.md.
bench-engines: build  ## times the start and the speed of the engines of docs/engines.md on SIZE rows
	$(PYTHON_VENV)/bin/python -c 'import apsw, dask.dataframe' 2> /dev/null || Tests/Python/matrix
	$(PYTHON_VENV)/bin/python Tests/Python/engines --rows $(SIZE) $(if $(WRITE),--write)

manual:           ## writes docs/cli.md and docs/tabella.1 from what the commands say of themselves
	swift build --product tabella
	.build/debug/tabella help --format markdown > docs/cli.md
	.build/debug/tabella help --format man > docs/tabella.1

# PREFIX is the folder of the installation, and DESTDIR comes before it. Both may contain spaces.
export PREFIX DESTDIR MAINTAINER

docs:             ## the API reference for authors and programs in .build/docs, with the toolchain's docc
	Sources/Packaging/docs

install:          ## installs tabella in PREFIX; builds first if you built before, or nobody did
	Sources/Packaging/install

uninstall:        ## removes what `make install` wrote in PREFIX
	Sources/Packaging/uninstall

wheel: build      ## the Python package with its libraries, in .build/wheel
	Sources/Packaging/stage
	Sources/TabellaPython/make-wheel .build/stage/tree

deb: build        ## Debian packages in .build/deb; needs dpkg-dev
	Sources/Packaging/deb

# .ci/run makes the same checks without the packages.
install-check: build  ## installs, uses, moves and removes tabella; packages in a clean root of debootstrap
	Tests/Install/run --packages

environment:      ## prints what a bug report needs
	@uname -srm; . /etc/os-release 2>/dev/null && echo "$$PRETTY_NAME" || true
	@swift --version 2>&1 | head -n 1
	@git describe --always --dirty 2>/dev/null || true
	@.build/release/tabella --version 2>/dev/null && .build/release/tabella providers || \
	  echo "tabella is not built"
