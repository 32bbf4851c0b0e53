#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rsockets: rstream, riostream, rcopy and udpong, unmodified, between two daemons, and programs for TCP over
# rdma-core's preload library. The other end is our own; tests/interop/rsockets.sh has rdma-core's.
#
# usage: tests/verbs/rsockets.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss rstream riostream rcopy udpong
two_daemons

# ------------------------------------------------------------------ streams

# stream 'PROGRAM options' ADDRESS: the same options at both ends
stream() { cm_pair "$1 to $2" "${LIMIT:-40}" "$1 -b $2" "$1 -s $2"; }

for b in $B4 $B6; do
	stream "rstream -C 100 -S 1000" $b
	stream "rstream -T a -T v -C 100 -S 5000" $b
	stream "rstream -T b -T v -C 100 -S 70000" $b
	stream "rstream -T n -T v -C 100 -S 300" $b
	stream "riostream -C 100 -S 1000" $b
done
stream "rstream -T b -T v -I 200 -C 20 -S 64" $B4
stream "rstream -T a -T v -I 2 -C 200 -S 200000" $B6
stream "rstream -T r -C 10 -S 1000" $B4
stream "rstream -i 0 -C 100 -S 64" $B4
stream "rstream -i 200 -C 100 -S 200" $B4
stream "rstream -f ip -B 4096 -C 100 -S 20000 -T b -T v" $B4
stream "rstream -k 1 -T b -C 100 -S 1000" $B4
stream "rstream -I 3 -C 1 -S 30000000 -T b -T v" $B4
stream "riostream -T b -T v -C 50 -S 100000" $B4
stream "riostream -T a -T v -C 50 -S 3000" $B4
stream "riostream -T b -T v -I 20 -C 5 -S 65536" $B6

finish_daemons() {
	roced_stop A
	roced_stop B
	finish
}
finish_daemons
