#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons in two network namespaces, joined by a veth pair under DPDK's af_packet driver: the
# programs that Debian ships, unmodified, and a program that checks every byte and completion.
#
# usage: tests/e2e/veth.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

# GID indices: 0 is the link-local one, then the addresses in the order of the configuration.
V4=1 V6=2

need ss ib_write_bw rping ibv_rc_pingpong
wire_direct 4200
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

devices_listed() { run_in A timeout 10 ibv_devices | grep -w roced0; }
devinfo_complete() {
	run_in A timeout 10 ibv_devinfo -v >"$tmp_dir/devinfo" || return 1
	cat "$tmp_dir/devinfo"
	grep -q 'link_layer:.*Ethernet' "$tmp_dir/devinfo" &&
		grep -q 'state:.*PORT_ACTIVE' "$tmp_dir/devinfo" &&
		grep -q 'active_mtu:.*4096' "$tmp_dir/devinfo" &&
		grep -q "GID.*$A4.*RoCE v2" "$tmp_dir/devinfo" &&
		grep -q "GID.*$A6.*RoCE v2" "$tmp_dir/devinfo"
}
check "ibv_devices lists roced0" devices_listed
check "ibv_devinfo -v: port active, MTU and GIDs" devinfo_complete

pingpong() { # NAME options...
	local name=$1
	shift
	pair "$name" 20 B "ibv_rc_pingpong -d roced0 $*" A "ibv_rc_pingpong -d roced0 $* $SIDE_B"
}
pingpong "ibv_rc_pingpong IPv4, polling" -g $V4 -n 500 -c
pingpong "ibv_rc_pingpong IPv4, events" -g $V4 -n 500 -e -c
pingpong "ibv_rc_pingpong IPv6, MTU 4096, 64 KiB" -g $V6 -n 200 -m 4096 -s 65536 -c

for tool in write read send atomic; do
	perftest "ib_${tool}_bw IPv4" 20 ib_${tool}_bw $V4 -n 1000
	perftest "ib_${tool}_lat IPv4" 20 ib_${tool}_lat $V4 -n 500
done
for tool in write read send; do
	perftest "ib_${tool}_bw -a, 2 B to 8 MiB, MTU 1024" 40 ib_${tool}_bw $V4 -a -n 10 -m 1024
	perftest "ib_${tool}_bw, 8 QPs, IPv6, MTU 4096" 30 ib_${tool}_bw $V6 -q 8 -n 100 -m 4096
done
perftest "ib_atomic_bw CMP_AND_SWAP, IPv6" 20 ib_atomic_bw $V6 -n 500 -A CMP_AND_SWAP
perftest "ib_send_bw -e (events)" 20 ib_send_bw $V4 -e -n 500
perftest "ib_write_bw -b (both ways at once)" 20 ib_write_bw $V4 -b -n 500
perftest "ib_write_lat -a" 40 ib_write_lat $V4 -a -n 10
pair "ib_write_bw -R (rdma_cm)" 20 B "ib_write_bw -d roced0 -F -R -n 200" A "ib_write_bw -d roced0 -F -R -n 200 $B4"

cm_pair "rping IPv4, data checked" 20 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
cm_pair "rping IPv6, data checked" 20 "rping -s -a $B6 -V -C 50 -S 4000" "rping -c -a $B6 -V -C 50 -S 4000"
cm_pair "ucmatose, 4 connections" 20 "ucmatose -b $B4 -c 4 -C 20 -S 1000" "ucmatose -s $B4 -c 4 -C 20 -S 1000"
cm_pair "rdma_server and rdma_client" 20 "rdma_server -s $B4" "rdma_client -s $B4"

verify "1 B to 1 MiB, 8 QPs, IPv4, MTU 1024, verified" 60 $V4 1024 -q 8 -s 1048579
verify "1 B to 8 MiB, 2 QPs, IPv4, MTU 4096, verified" 60 $V4 4096 -q 2 -s 8388608
verify "1 B to 256 KiB, 4 QPs, IPv6, MTU 2048, events, verified" 60 $V6 2048 -q 4 -s 262144 -e
verify "1 B to 64 KiB, 1 QP, IPv4, MTU 256, verified" 30 $V4 256 -q 1 -s 65537

pair "ibv_xsrq_pingpong" 20 B "ibv_xsrq_pingpong -d roced0 -g $V4 -n 300" A "ibv_xsrq_pingpong -d roced0 -g $V4 -n 300 $SIDE_B"

roced_stop A
roced_stop B
finish
