#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the libFuzzer targets with clang, ASan and UBSan, and runs each for some seconds.
#
# usage: tests/fuzz/run.sh [--build DIR] [--seconds N] [target...]
#
#   --build DIR     build directory (default build-fuzz in the source tree)
#   --seconds N     time for each target (default 10)
#   target          frame, arp_nd, cm, tp, vd, fabric, model, psp, hs, tunnel (default all)
#
# Prints "PASS name", "FAIL name" or "SKIP name: reason" for each; a failing input is kept in the build
# directory and named. What a run finds is kept there too and is where the next one starts.
# Exit status: 0 when none failed.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$top/build-fuzz
seconds=10
targets=()

usage() { sed -n '5,13s/^# \{0,1\}//p' "$0"; }

while [ $# -gt 0 ]; do
    case $1 in
    --build | --seconds)
        [ $# -ge 2 ] || { echo "run.sh: $1 needs a value" >&2; exit 2; }
        [ "$1" = --build ] && build=$2 || seconds=$2
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) targets+=("$1") ;;
    esac
    shift
done
if [ ${#targets[@]} -eq 0 ]; then
    for source in "$top"/tests/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        targets+=("${name#fuzz_}")
    done
fi

skip_all() {
    local name
    for name in "${targets[@]}"; do
        echo "SKIP fuzz/$name: $1"
    done
    exit 0
}

command -v clang >/dev/null || skip_all "clang is not installed"
probe=$(mktemp)
echo 'int LLVMFuzzerTestOneInput(const void *p, long n); int LLVMFuzzerTestOneInput(const void *p, long n) { return !p && n; }' |
    clang -fsanitize=fuzzer -x c -o "$probe" - 2>/dev/null || { rm -f "$probe"; skip_all "clang comes without libFuzzer (libclang-rt-dev)"; }
rm -f "$probe"
if [ ! -e "$build/build.ninja" ]; then
    # Unlike the test build, a new warning of another compiler is no reason not to fuzz.
    CC=clang meson setup "$build" "$top" -Dfuzz=true -Dwerror=false -Db_lundef=false \
        -Db_sanitize=address,undefined -Dc_args=-fsanitize=fuzzer-no-link >"$build.log" 2>&1 || {
        tail -n 20 "$build.log" >&2
        for name in "${targets[@]}"; do echo "FAIL fuzz/$name"; done
        exit 1
    }
fi
mkdir -p "$build/fuzz"
python3 "$top/tests/fuzz/corpus.py" "$top/tests" "$build/fuzz/seeds"

failed=0
for name in "${targets[@]}"; do
    found=$build/fuzz/found/$name
    log=$build/fuzz/$name.log
    mkdir -p "$found" "$build/fuzz/seeds/$name"
    if ! ninja -C "$build" "tests/fuzz/fuzz_$name" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "FAIL fuzz/$name"
        failed=1
        continue
    fi
    # A single input may take at most 25 s, on a busy machine, and a run 1 GiB. Weighing inputs by entropy
    # costs more than it brings where one run takes as long as it does in the transport.
    if timeout $((seconds + 60)) env ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        "$build/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=1024 -max_len=8192 -entropic=0 \
        -print_final_stats=1 -artifact_prefix="$build/fuzz/$name-" "$found" "$build/fuzz/seeds/$name" \
        >"$log" 2>&1; then
        echo "PASS fuzz/$name"
    else
        grep -E 'ERROR|SUMMARY|runtime error|broken:|Test unit written|^ *#[0-9]+ ' "$log" | head -n 20 >&2
        echo "FAIL fuzz/$name"
        failed=1
    fi
done
exit $failed
