#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons joined by a veth pair: datagrams, unreliable connections, shared receive queues, requests
# built call by call and extended completion queues, by the programs that Debian ships, unmodified.
#
# usage: tests/e2e/services.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

# GID indices: 0 is the link-local one, then the addresses in the order of the configuration.
V4=1 V6=2

need ss ib_send_bw ibv_ud_pingpong
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
perftest "ib_send_bw UC" 20 ib_send_bw $V4 -c UC -n 500
perftest "ib_send_lat UC" 20 ib_send_lat $V4 -c UC -n 500
perftest "ib_write_bw UC" 20 ib_write_bw $V4 -c UC -n 500
perftest "ib_write_bw UC, IPv6, 4 QPs, 2 B to 8 MiB" 40 ib_write_bw $V6 -c UC -a -n 10 -q 4
perftest "ib_write_lat UC" 20 ib_write_lat $V4 -c UC -n 500
perftest "ib_send_bw RC with a shared queue, 4 QPs" 20 ib_send_bw $V4 --use-srq -q 4 -n 500
perftest "ib_send_lat RC with a shared queue" 20 ib_send_lat $V4 --use-srq -n 500

roced_stop A
roced_stop B
finish
