#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons joined by a veth pair: datagrams, unreliable connections, shared receive queues, requests
# built call by call, windows and extended completion queues, by the programs that Debian ships, unmodified.
#
# usage: tests/e2e/services.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

# GID indices: 0 is the link-local one, then the addresses in the order of the configuration.
V4=1 V6=2

need ss ib_send_bw udaddy ibv_ud_pingpong
wire_direct 4200
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

pingpong() { # NAME TOOL options...
	local name=$1 tool=$2
	shift 2
	pair "$name" 20 B "$tool -d roced0 $*" A "$tool -d roced0 $* $SIDE_B"
}

pingpong "ibv_ud_pingpong IPv4" ibv_ud_pingpong -g $V4 -n 500 -c
pingpong "ibv_ud_pingpong IPv6, events" ibv_ud_pingpong -g $V6 -n 500 -e -c
pingpong "ibv_uc_pingpong IPv4" ibv_uc_pingpong -g $V4 -n 500 -c
pingpong "ibv_uc_pingpong IPv6, 64 KiB, events" ibv_uc_pingpong -g $V6 -n 100 -s 65536 -m 4096 -e -c
pingpong "ibv_srq_pingpong IPv4, 16 QPs" ibv_srq_pingpong -g $V4 -n 500 -c
pingpong "ibv_srq_pingpong IPv6, events" ibv_srq_pingpong -g $V6 -n 500 -e -c
pingpong "ibv_rc_pingpong -N (requests built call by call)" ibv_rc_pingpong -g $V4 -n 500 -N -c
pingpong "ibv_rc_pingpong -t (extended CQ, timestamps)" ibv_rc_pingpong -g $V4 -n 500 -t -c

perftest "ib_send_bw UD" 20 ib_send_bw $V4 -c UD -n 500
perftest "ib_send_bw UD, IPv6, 8 QPs, events" 20 ib_send_bw $V6 -c UD -n 200 -q 8 -e
perftest "ib_send_lat UD" 20 ib_send_lat $V4 -c UD -n 500
# The server waits for every message and nothing repeats a lost one, so all must fit into the ring of its port.
perftest "ib_send_bw UC" 20 ib_send_bw $V4 -c UC -n 300 -s 4096
perftest "ib_send_lat UC" 20 ib_send_lat $V4 -c UC -n 500
perftest "ib_write_bw UC" 20 ib_write_bw $V4 -c UC -n 500
perftest "ib_write_bw UC, IPv6, 4 QPs, 2 B to 8 MiB" 40 ib_write_bw $V6 -c UC -a -n 10 -q 4
perftest "ib_write_lat UC" 20 ib_write_lat $V4 -c UC -n 500
perftest "ib_send_bw RC with a shared queue, 4 QPs" 20 ib_send_bw $V4 --use-srq -q 4 -n 500
perftest "ib_send_lat RC with a shared queue" 20 ib_send_lat $V4 --use-srq -n 500

cm_pair "udaddy IPv4" 20 "udaddy -b $B4 -C 20 -S 1000" "udaddy -s $B4 -C 20 -S 1000"
cm_pair "udaddy IPv6, 4 connections" 20 "udaddy -b $B6 -c 4 -C 20" "udaddy -s $B6 -c 4 -C 20"
pair "ib_send_bw UD -R (rdma_cm)" 20 B "ib_send_bw -d roced0 -F -R -c UD -n 200" \
	A "ib_send_bw -d roced0 -F -R -c UD -n 200 $B4"
cm_pair "rdma_xserver and rdma_xclient" 20 "rdma_xserver -c r" "rdma_xclient -s $B4 -c r"

served "rping, a persistent server for 5 clients" 20 5 "rping -s -P -a $B4" "rping -c -a $B4 -V -C 10"
served "cmtime, 100 connections" 30 1 "cmtime -b $B4 -c 100" "cmtime -s $B4 -c 100"
served "cmtime, 10 connections, twice" 30 2 "cmtime -b $B4" "cmtime -s $B4 -c 10"

# What none of those programs calls, by Debian's Python bindings.
# A message of 2 GiB needs twice as much memory.
api_fits() {
	local free_kb
	free_kb=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)
	[[ $1 != largest_* || $free_kb -gt 6000000 ]]
}
api() { run_in A timeout -k 2 120 /usr/bin/python3 "$repo_dir/tests/e2e/verbs_api.py" "$1" roced0 $V4; }
if /usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null; then
	for case in $(/usr/bin/python3 "$repo_dir/tests/e2e/verbs_api.py" --list); do
		if api_fits "$case"; then
			check "calls by pyverbs: $case" api "$case"
		else
			skip "calls by pyverbs: $case" "it needs 6 GB of memory"
		fi
	done
else
	skip "calls by pyverbs" "python3-pyverbs is not installed"
fi

roced_stop A
roced_stop B
finish
