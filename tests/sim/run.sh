#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Simulated fabrics: faults by seed, and what roce-sim promises. A line PASS or FAIL a case; a failing seed comes with
# the command that runs it again.
#
# usage: tests/sim/run.sh [SEEDS]      default 300
# ROCED_BUILD: build directory, default build
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${ROCED_BUILD:-$top/build}
sim=$build/app/roce-sim/roce-sim
seeds=${1:-300}
batch=100
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

result() { # NAME STATUS
    if [ "$2" -eq 0 ]; then echo "PASS $1"; else echo "FAIL $1"; failed=1; fi
}

# Every scenario that is shipped runs; the smaller ones twice, and both times write the same bytes.
for conf in "$top"/config/sim/*.conf; do
    name=$(basename "$conf" .conf)
    case $name in
    *-1024) continue ;;
    esac
    rc=0
    for run in 1 2; do
        "$sim" "$conf" --seed 7 --json "$tmp/$run.json" --csv "$tmp/$run.csv" --svg "$tmp/$run.svg" \
            >"$tmp/$run.txt" 2>"$tmp/$run.err" || { cat "$tmp/$run.err"; rc=1; }
    done
    for what in json csv svg txt; do
        cmp "$tmp/1.$what" "$tmp/2.$what" || rc=1
    done
    python3 - "$tmp" <<'PY' || rc=1
import csv, json, sys, xml.dom.minidom
run = json.load(open(sys.argv[1] + "/1.json"))["runs"][0]
rows = list(csv.DictReader(open(sys.argv[1] + "/1.csv")))
assert len(rows) == run["flows"] and sum(r["outcome"] == "ok" for r in rows) == run["ok"] > 0
assert run["failed"] == 0 and all(int(r["end_ns"]) - int(r["start_ns"]) > 0 for r in rows if r["outcome"] == "ok")
xml.dom.minidom.parse(sys.argv[1] + "/1.svg")
PY
    result "scenario $name, twice the same" $rc
done

# On a terminal a bar shows how far the runs are and how long it will take, and leaves nothing behind.
rc=0
python3 - "$sim" "$top/config/sim/permutation.conf" <<'PY' || rc=1
import os, pty, re, subprocess, sys
ours, theirs = pty.openpty()
run = subprocess.Popen([sys.argv[1], sys.argv[2], "--seeds", "2"], stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
shown = b""
while True:
    try:
        some = os.read(ours, 4096)
    except OSError:  # the other end is closed
        break
    if not some:
        break
    shown += some
assert run.wait() == 0
bars = re.findall(rb"\r\[(#*) *\] +([0-9.]+)%(?:  ([0-9]+) s left)?", shown)
assert len(bars) > 2 and any(b[2] for b in bars), shown
done = [float(b[1]) for b in bars]
assert done == sorted(done) and done[-1] > 30 and shown.endswith(b" \r"), shown
PY
result "roce-sim shows how far it is and how long it will take" $rc
rc=0
(cd "$top" && "$sim" config/sim/permutation.conf) >"$tmp/shown.txt" || rc=1
sed -n '/^seed 1: /,/^```/p' "$top/docs/simulator.md" | sed '$d' | cmp - "$tmp/shown.txt" || rc=1
result "docs/simulator.md shows what comes" $rc
rc=0
"$sim" --print-help --markdown >"$tmp/keys"
sed -n '/^| key | type/,$p' "$top/docs/simulator.md" | cmp - "$tmp/keys" || rc=1
result "docs/simulator.md has the keys" $rc
rc=0
"$build/app/roce-fabric/roce-fabric" --print-help --markdown >"$tmp/keys"
sed -n '/^| key | type/,$p' "$top/docs/fabric.md" | cmp - "$tmp/keys" || rc=1
result "docs/fabric.md has the keys" $rc

# The trainer of the learned controller: the same options give the same model, in one go or two, however many jobs.
train() { "$top/tools/train-cc" --sim "$sim" --small --population 4 --seeds 1 --held-out 1 "$@" >"$tmp/train.txt"; }
rc=0
train --rounds 2 --out "$tmp/1.model" || rc=1
train --rounds 1 --out "$tmp/2.model" --state "$tmp/state" --jobs 2 || rc=1
train --rounds 2 --out "$tmp/2.model" --state "$tmp/state" --jobs 2 || rc=1
cmp "$tmp/1.model" "$tmp/2.model" || rc=1
grep -q '^  learned ' "$tmp/train.txt" || rc=1
if train --rounds 2 --random 2 --out "$tmp/3.model" --state "$tmp/state" 2>"$tmp/train.err"; then rc=1; fi
grep -q 'is of a search with other options' "$tmp/train.err" || rc=1
# What cannot be read or written is said at once, by name.
refused() { # WHAT OPTIONS...
    if train --rounds 0 "${@:2}" 2>"$tmp/train.err" || [ "$(wc -l <"$tmp/train.err")" -ne 1 ] || ! grep -qF -- "$1" "$tmp/train.err"; then
        cat "$tmp/train.err"
        rc=1
    fi
}
refused "--out: $tmp/none/1.model cannot be written" --out "$tmp/none/1.model"
refused "--state: $tmp cannot be written" --out "$tmp/3.model" --state "$tmp"
for text in junk '[1]' '{"of": 1}'; do
    echo "$text" >"$tmp/other"
    refused "$tmp/other is not what --state writes" --out "$tmp/3.model" --state "$tmp/other"
done
refused "--sim: $tmp is no program" --sim "$tmp" --out "$tmp/3.model"
sed 's/^transport = {/transport = { congestion = "learned";/' "$top/config/sim/head-of-line.conf" >"$tmp/learned.conf"
echo 'learned = { model = "1.model"; };' >>"$tmp/learned.conf"
"$sim" "$tmp/learned.conf" --quiet || rc=1
result "tools/train-cc: the same seed gives the same model, and it is one" $rc

python3 "$top/tests/sim/congestion.py" "$sim" || failed=1

# The size that the simulator is made for.
rc=0
started=$SECONDS
(ulimit -v 4194304; "$sim" "$top/config/sim/permutation-1024.conf" --json "$tmp/big.json" --quiet) || rc=1
grep -q '"ok": 1024' "$tmp/big.json" || rc=1
[ $((SECONDS - started)) -le 120 ] || rc=1
echo "took $((SECONDS - started)) s"
result "1024 hosts, 2 MiB each, within 120 s and 4 GiB" $rc

for ((first = 1; first <= seeds; first += batch)); do
    n=$((seeds - first + 1 < batch ? seeds - first + 1 : batch))
    "$build/tests/sim/sim_faults" "$first" "$n" || failed=1
done
exit $failed
