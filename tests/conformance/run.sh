#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs all conformance scenarios: two daemons, then roced and Linux Soft-RoCE both ways round. A line PASS, FAIL or SKIP a case.
#
# usage: tests/conformance/run.sh [--table]      (root; ROCED_BUILD names the build directory, ONLY=REGEX chooses scenarios)
#
#   --table     put the results as a table into docs/conformance.md
set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
case ${1:-} in
'' | --table) ;;
*) sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
RESULTS=$(mktemp)
export RESULTS
trap 'rm -f "$RESULTS"' EXIT
rc=0
"$top/tests/e2e/conformance.sh" || rc=1
"$top/tests/interop/conformance.sh" || rc=1
if [ "${1:-}" = --table ]; then
	"$top/tests/conformance/table.py" "$RESULTS" --into "$top/docs/conformance.md" || rc=1
fi
exit $rc
