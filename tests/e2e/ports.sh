#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of port and every way to run the daemon, with traffic over it: what docs/configuration.md
# promises is tried here, a short case each. The data path as such is the matter of veth.sh.
#
# usage: tests/e2e/ports.sh [GROUP...]      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2
rocectl_bin=$build_dir/app/rocectl/rocectl
groups="af_xdp memif ring loopback pcap virtio_user hugepages two_workers vlan kernel_peer daemon_mode under_load idle killed"

need ss tcpdump ping ib_write_bw ibv_rc_pingpong

# ------------------------------------------------------------------ helpers

# The two programs that every port must carry.
programs() { # NAME SERVER_NS CLIENT_NS HOST
	pair "$1: ibv_rc_pingpong" 15 "$2" "ibv_rc_pingpong -d roced0 -g $V4 -n 300 -c" \
		"$3" "ibv_rc_pingpong -d roced0 -g $V4 -n 300 -c $4"
	pair "$1: ib_write_bw" 15 "$2" "ib_write_bw -d roced0 -x $V4 -F -n 300" \
		"$3" "ib_write_bw -d roced0 -x $V4 -F -n 300 $4"
}

both_start() { # DEVICE_A DEVICE_B PATH_MTU PORT_MTU
	roced_start A "$1" "$3" "$4" "$A4/24" "$A6/64" && roced_start B "$2" "$3" "$4" "$B4/24" "$B6/64"
}

both_stop() {
	roced_stop A
	roced_stop B
}

# dump NS: the counters of its daemon, by SIGUSR1, in $tmp_dir/dump-NS
dump() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "${!var}" || return 1
	wait_for 3 dump_done "$log" "$at"
	tail -n "+$at" "$log" >"$tmp_dir/dump-$1"
}
# the last worker's transport comes last
dump_done() { tail -n "+$2" "$1" | grep -q 'transport .*retransmits'; }

# counter NS LINE NAME: sums NAME over the lines of the last dump that match LINE
counter() {
	awk -v line="$2" -v name="$3" '$0 ~ line { for (i = 1; i < NF; i++) if ($i == name) sum += $(i + 1) }
		END { print sum + 0 }' "$tmp_dir/dump-$1"
}

log_has() { grep -qE "$2" "$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }

# ends_within SECONDS PID: sets end_status
ends_within() {
	end_status=124
	wait_for "$1" gone "$2" || return 1
	wait "$2"
	end_status=$?
	forget_pid "$2"
}

# ------------------------------------------------------------------ kinds of ports

# The kernel attaches XDP to a veth only when the peer's frames fit in a page, so it has a wire of its own.
group_af_xdp() {
	local device="net_af_xdp0,iface=xdp,force_copy=1"
	veth A xdp B xdp 3200
	if ! both_start $device $device 2048 3200; then return; fi
	programs "af_xdp" B A "$SIDE_B"
	cm_pair "af_xdp: rping IPv6, data checked" 15 "rping -s -a $B6 -V -C 20 -S 4000" \
		"rping -c -a $B6 -V -C 20 -S 4000"
	both_stop
}

memif_device() { # ROLE
	echo "net_memif0,role=$1,id=0,bsize=8192,rsize=10,socket=$tmp_dir/memif.sock,socket-abstract=no"
}

# The socket is a file, which both namespaces see.
group_memif() {
	if ! both_start "$(memif_device server)" "$(memif_device client)" 4096 4200; then return; fi
	check "memif: both ports come up" wait_for 5 memif_up
	programs "memif" B A "$SIDE_B"
	both_stop
	rm -f "$tmp_dir/memif.sock"
}
memif_up() { port_is_up A && port_is_up B; }
port_is_up() { dump "$1" && grep -q 'port "p0": up' "$tmp_dir/dump-$1"; }

# What a daemon sends to its own address does not leave it; the announcements pass through the ring.
group_ring() {
	PORT_KEYS="promiscuous = true;" roced_start A net_ring0 4096 4200 "$A4/24" || return
	programs "ring" A A "$SIDE_A"
	check "ring: the port receives what it sends" ring_carried
	roced_stop A
}
ring_carried() {
	dump A
	[ "$(counter A 'port "p0"' rx)" -gt 0 ]
}

group_loopback() {
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || return
	programs "af_packet loopback" A A "$SIDE_A"
	pair "af_packet loopback: rping" 15 A "rping -s -a $A4 -V -C 20 -S 4000" A "rping -c -a $A4 -V -C 20 -S 4000"
	pair "af_packet loopback: ib_read_bw IPv6" 15 A "ib_read_bw -d roced0 -x $V6 -F -n 300" \
		A "ib_read_bw -d roced0 -x $V6 -F -n 300 $SIDE_A"
	roced_stop A
}

# An empty capture to read, as libpcap 2.4 has it: magic, version, zone, accuracy, length, Ethernet.
empty_pcap() { printf '\xd4\xc3\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\x00\x00\x04\x00\x01\x00\x00\x00' >"$1"; }

group_pcap() {
	empty_pcap "$tmp_dir/in.pcap"
	roced_start A "net_pcap0,rx_pcap=$tmp_dir/in.pcap,tx_pcap=$tmp_dir/out.pcap" 4096 4200 "$A4/24" "$A6/64" || return
	roced_stop A
	check "pcap: its announcements are in the capture" pcap_announced
}
pcap_announced() {
	"$rocectl_bin" decode "$tmp_dir/out.pcap" || return 1
	tcpdump -nn -r "$tmp_dir/out.pcap" 2>/dev/null >"$tmp_dir/out.txt"
	grep -q "ARP.*$A4" "$tmp_dir/out.txt" && grep -q "neighbor advertisement.*$A6" "$tmp_dir/out.txt"
}

# ------------------------------------------------------------------ main

run_groups() {
	local g
	wire_direct 4200
	for g in "$@"; do
		declare -F "group_$g" >/dev/null || { fail "there is a group $g; there are: $groups"; continue; }
		"group_$g"
	done
}

# shellcheck disable=SC2086
if [ $# -gt 0 ]; then run_groups "$@"; else run_groups $groups; fi
finish
