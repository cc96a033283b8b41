#!/bin/sh
# `make test`: compares the provider's tables with expected/, then checks the library against the contract.
# For each new case, add a line `shows CASE ARGUMENT…`, and run `./test --update` to write its table.
set -eu
cd "$(dirname "$0")"
tabella=${TABELLA:-tabella}
export TABELLA_PROVIDER_PATH="$PWD"
update=${1-}
status=0
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT

# shows CASE ARGUMENT…: compares a table with expected/CASE.txt.
shows() {
  case=$1
  shift
  if ! "$tabella" show "$@" > "$shown"; then
    echo "failed: $case: tabella show $*"
    status=1
  elif [ "$update" = --update ]; then
    cp "$shown" "expected/$case.txt"
  elif diff -u "expected/$case.txt" "$shown"; then
    echo "passed: $case"
  else
    echo "failed: $case; if the new table is right, run ./test --update"
    status=1
  fi
}

shows sample @NAME@:
shows file example.@NAME@

"$tabella" check ./@NAME@.so @NAME@: --quiet || status=1
"$tabella" check ./@NAME@.so example.@NAME@ --quiet || status=1
exit $status
