#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons with a faulty wire between them: RoCE frames are lost, doubled, reordered and corrupted.
# Whatever the wire does, all bytes are right and every work request completes once and in order.
#
# usage: tests/e2e/impaired.sh [SEED]      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2
seed=${1:-1}

need ss ib_write_bw rping
[ -x "$impair_bin" ] || skip_all "no $impair_bin"
wire_impaired 4200
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# wire OPTIONS: a new wire with these faults
wire() {
	stop_impair
	start_impair M a b --seed "$seed" "$@" || { fail "the wire starts" "$tmp_dir/impair.log"; finish; }
}

# wire_did WORD...: the wire really did what a case is about
wire_did() {
	stop_impair
	[ -z "${ONLY:-}" ] || return 0 # few frames, perhaps none of a kind
	local word
	for word in "$@"; do
		if grep -qE "$word [1-9]" "$tmp_dir/impair.log"; then
			pass "the wire has $word frames"
		else
			fail "the wire has $word frames" "$tmp_dir/impair.log"
		fi
	done
}

verified() { # NAME GID MTU
	verify "$1, verified" 60 "$2" "$3" -q 4 -s 65537
}

wire --drop 1
verified "1 % loss, MTU 1024" $V4 1024
wire_did dropped
wire --dup 3
verified "3 % duplication, MTU 1024, IPv6" $V6 1024
wire_did duplicated
wire --reorder 2
verified "2 % reordering, MTU 4096" $V4 4096
wire_did reordered
wire --corrupt 1
verified "1 % corruption, MTU 1024" $V4 1024
wire_did corrupted

mix="--drop 1 --dup 1 --reorder 1 --corrupt 1"
# shellcheck disable=SC2086
wire $mix
verified "all faults, MTU 256" $V4 256
verify "all faults, large messages, verified" 60 $V6 4096 -q 2 -s 1048579 --no-atomics
verify "all faults, 8 QPs, verified" 60 $V4 1024 -q 8 -s 16384
perftest "all faults: ib_write_bw -a, 2 B to 8 MiB" 60 ib_write_bw $V6 -a -n 5 -m 4096
for tool in write read send; do
	perftest "all faults: ib_${tool}_bw" 30 ib_${tool}_bw $V4 -n 200 -s 16384 -m 1024
done
perftest "all faults: ib_atomic_bw" 30 ib_atomic_bw $V4 -n 200
perftest "all faults: ib_write_lat" 30 ib_write_lat $V4 -n 200
cm_pair "all faults: rping, data checked" 40 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
wire_did dropped duplicated reordered corrupted

wire --drop 20
cm_pair "20 % loss: rping connects and ends" 60 "rping -s -a $B4 -V -C 3" "rping -c -a $B4 -V -C 3"
wire_did dropped

roced_stop A
roced_stop B

# Daemons that expect a network to reorder ask for nothing again.
export DEVICE_KEYS="reorder_packets = 256; reorder_us = 1000000;"
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish
unset DEVICE_KEYS
wire --reorder 5
verified "5 % reordering that is expected, MTU 1024" $V4 1024
perftest "5 % reordering that is expected: ib_read_bw" 30 ib_read_bw $V4 -n 200 -s 16384
wire_did reordered
no_naks() { ! daemon_counts "$1" seq_naks_sent; }
for n in A B; do
	check "expected reordering: $n kept packets" daemon_counts $n reordered
	check "expected reordering: $n sent no NAK" no_naks $n
done
roced_stop A
roced_stop B

# The same over taps.
for n in A B; do ip -n "$(ns $n)" link set dev port mtu 1500; done
tap_daemons || finish
# shellcheck disable=SC2086
wire $mix
verified "tap, all faults, MTU 512, IPv6" $V6 512
perftest "tap, all faults: ib_write_bw" 30 ib_write_bw $V4 -n 200 -s 16384
perftest "tap, all faults: ib_read_lat" 30 ib_read_lat $V6 -n 200
cm_pair "tap, all faults: rping, data checked" 40 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
wire_did dropped duplicated reordered corrupted
roced_stop A
roced_stop B
finish
