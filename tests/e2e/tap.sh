#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons under DPDK's tap driver. In each namespace a kernel bridge joins the daemon's tap with
# one end of a veth pair, so frames pass through the kernel the way they do on a host with a bridge.
# The driver sends no frames above an MTU of 1500, so the path MTU is 1024 at most.
#
# usage: tests/e2e/tap.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2

need ss ib_write_bw rping ibv_rc_pingpong

wire_direct 1500
tap_daemons || finish

pair "ibv_rc_pingpong" 20 B "ibv_rc_pingpong -d roced0 -g $V4 -n 500 -c" \
	A "ibv_rc_pingpong -d roced0 -g $V4 -n 500 -c $SIDE_B"
cm_pair "rping IPv4, data checked" 20 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
cm_pair "rping IPv6, data checked" 20 "rping -s -a $B6 -V -C 50 -S 4000" "rping -c -a $B6 -V -C 50 -S 4000"
for tool in write read send atomic; do
	perftest "ib_${tool}_bw IPv4" 20 ib_${tool}_bw $V4 -n 500
	perftest "ib_${tool}_lat IPv6" 20 ib_${tool}_lat $V6 -n 200
done
perftest "ib_write_bw -a, 2 B to 8 MiB, MTU 1024" 40 ib_write_bw $V4 -a -n 10 -m 1024
perftest "ib_read_bw, 8 QPs, MTU 256" 30 ib_read_bw $V4 -q 8 -n 100 -m 256
verify "1 B to 1 MiB, 8 QPs, IPv4, MTU 1024, verified" 60 $V4 1024 -q 8 -s 1048579
verify "1 B to 64 KiB, 2 QPs, IPv6, MTU 512, verified" 30 $V6 512 -q 2 -s 65537

roced_stop A
roced_stop B
finish
