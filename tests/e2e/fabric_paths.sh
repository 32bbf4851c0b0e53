#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons that have agreed, and four paths between them: each carries its share, one that is cut costs nothing but its
# share and is used again later, and one path alone (ECMP) is slower. A peer that has not agreed gets its packets in order.
#
# The paths have 100 Mb/s each, so that they and not this machine's processors are what is short.
#
# usage: tests/e2e/fabric_paths.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"

V4=1

need ss ib_write_bw rping python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_fabric 4200
fabric_config "host_mbps = 1000; leaf_mbps = 100; buffer_bytes = 4194304; ecn_min_bytes = 20000; ecn_max_bytes = 80000;
	convergence_us = 100000000;" >"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish

# daemons KEYS: of their multipath group, the same at both
daemons() {
	local n
	for n in A B; do
		MORE="multipath = { $1 };" roced_start $n "$(af_packet_device port)" 4096 4200 \
			"$([ $n = A ] && echo "$A4/24" || echo "$B4/24")" || finish
	done
}
stop_daemons() {
	roced_stop A
	roced_stop B
}
listed='peers = [ "10.77.0.0/24" ];'

# up_packets: of each spine, from the leaves
up_packets() { fabric_value "*[p['up']['packets'] for p in s['spines']]"; }

# shares: the least share of a path, in percent
least_share() { fabric_value "min(p['up']['packets'] for p in s['spines']) * 100 // max(1, sum(p['up']['packets'] for p in s['spines']))"; }

# measure NAME [OPTIONS]: ib_write_bw's average, MB/s, in $measured
measure() {
	perftest "$@"
	measured=$(awk '$1 == 65536 { print int($4 * 10) }' "$tmp_dir/client.log" | tail -1)
}

# ------------------------------------------------------------------ all paths are used

daemons "$listed"
perftest "warm" 30 ib_write_bw $V4 -n 100
fabric_ctl reset >/dev/null
measure "ib_write_bw over four paths" 40 ib_write_bw $V4 -D 5
sprayed=${measured:-0}
each_carries() {
	echo "packets of each path: $(up_packets)"
	[ "$(least_share)" -ge 12 ]
}
check "each path carries its share" each_carries
verify "every byte, 4 QPs" 60 $V4 4096 -q 4 -s 262144
verify "every byte, both ends at once" 60 $V4 1024 -q 2 -s 65537

# ------------------------------------------------------------------ one is cut while data flows

# rate SECONDS: packets that come to the spines in that time
rate() {
	local before
	before=$(fabric_value "sum(p['up']['packets'] for p in s['spines'])")
	sleep "$1"
	echo $(($(fabric_value "sum(p['up']['packets'] for p in s['spines'])") - before))
}

# What is lost at the cut is told by the programs: all of it has to come and to be right.
cut_and_restore() {
	local client before after rc=0
	spawn_in B 60 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 32
	server_settles B ib_write_bw
	spawn_in A 60 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 32 $SIDE_B
	client=$spawned_pid
	sleep 2
	before=$(rate 1)
	fabric_ctl cut spine 1
	sleep 0.5
	fabric_ctl reset
	after=$(rate 1)
	echo "packets a second before the cut $before, half a second after it $after, on the paths: $(up_packets)"
	# three of four paths are left
	[ $((after * 2)) -ge "$before" ] || rc=1
	fabric_ctl restore spine 1
	sleep 1.5
	fabric_ctl reset
	sleep 1
	echo "after it has come back: $(up_packets)"
	[ "$(least_share)" -ge 8 ] || rc=1
	wait "$client" || rc=1
	cat "$tmp_dir/client.log" "$tmp_dir/client.log.err"
	return $rc
}
check "one path is cut: the others carry on, and it is used again when it works" cut_and_restore
cut_verify() {
	(
		sleep 1
		fabric_ctl cut spine 2
		sleep 2
		fabric_ctl restore spine 2
		fabric_ctl cut spine 0
		sleep 2
		fabric_ctl restore spine 0
	) >"$tmp_dir/cuts.log" &
	verify "every byte while two paths are cut in turn" 90 $V4 4096 -q 2 -s 4194304
	wait $!
}
! wanted "every byte while two paths are cut in turn" || cut_verify
stop_daemons

# ------------------------------------------------------------------ one path alone

daemons "$listed scheduler = \"ecmp\";"
perftest "warm, ecmp" 30 ib_write_bw $V4 -n 50
measure "ib_write_bw, ecmp" 40 ib_write_bw $V4 -D 5
worse() {
	echo "four paths: $((sprayed / 10)).$((sprayed % 10)) MB/s, one by ECMP: $((measured / 10)).$((measured % 10)) MB/s"
	[ $((measured * 3)) -lt $((sprayed * 2)) ]
}
check "one path by ECMP is slower than four" worse
stop_daemons

# ------------------------------------------------------------------ a peer that has not agreed

daemons 'plain = { scheduler = "ecmp"; };'
fabric_ctl reset >/dev/null
perftest "a peer that has not agreed" 40 ib_write_bw $V4 -D 3
in_order() {
	echo "paths: $(up_packets); NAKs of sequence: $(counter B seq_naks_sent), RC_SACK: $(counter A sacks_received)"
	[ "$(counter A sacks_received)" -eq 0 ] && [ "$(spines_used 1000)" -eq 1 ] && [ "$(counter B seq_naks_sent)" -eq 0 ]
}
check "a peer that has not agreed gets its packets in order, by one path" in_order
stop_daemons

# ------------------------------------------------------------------ the same, but the flow moves

CONTROL_KEYS="telemetry = true;"
daemons ""

# bytes_of_A: from leaf 0, where A is, to each spine
bytes_of_A() {
	fabric_ctl links | python3 -c "import json, sys
for l in json.load(sys.stdin)['links']:
    if l['name'].startswith('leaf 0 - spine'): print(l['up']['bytes'])"
}
# busiest: the spine that most of A's bytes have gone to in the last second
busiest() {
	fabric_ctl reset >/dev/null
	sleep 1
	bytes_of_A | awk '$1 > most { most = $1; s = NR - 1 } END { print s + 0 }'
}
told_in_order() {
	"$build_dir/app/rocectl/rocectl" paths --socket \
		"$(telemetry_socket A)" >"$tmp_dir/table" || return 1
	cat "$tmp_dir/table"
	grep -q "to $B4 qp .*: adaptive in order, [1-8] of 8 EVs used" "$tmp_dir/table"
}

# leaves_slow PERCENT TOOL OPTIONS: the path that TOOL's packets take becomes slow, and they leave it
leaves_slow() {
	local percent=$1 slow client rc=0
	shift
	spawn_in B 60 "$tmp_dir/server.log" "$@" -d roced0 -x $V4 -F -D 16
	server_settles B "$1"
	spawn_in A 60 "$tmp_dir/client.log" "$@" -d roced0 -x $V4 -F -D 16 $SIDE_B
	client=$spawned_pid
	sleep 2
	slow=$(busiest)
	fabric_ctl rate leaf 0 spine "$slow" "$percent" >/dev/null
	sleep 3
	told_in_order || rc=1
	fabric_ctl reset >/dev/null
	sleep 1
	echo "bytes of each path when path $slow has $percent % of its rate:" $(bytes_of_A)
	bytes_of_A | awk -v s=$((slow + 1)) '{ all += $1 } NR == s { slow = $1 } END { exit all == 0 || slow * 3 > all }' || rc=1
	wait "$client" || rc=1
	fabric_ctl restore >/dev/null
	cat "$tmp_dir/client.log" "$tmp_dir/client.log.err"
	return $rc
}
# acknowledgements, which are small, stay where they are
check "a slow path is left at the next pause" leaves_slow 1 ib_write_lat -s 1024
check "a slow path is left under load" leaves_slow 25 ib_write_bw
verify "every byte, 4 QPs that move" 60 $V4 4096 -q 4 -s 262144
nothing_reordered() {
	local n
	echo "moves of A $(counter A moves), of B $(counter B moves); timeouts of A $(counter A ack_timeouts)"
	for n in A B; do
		echo "$n: NAKs of sequence sent $(counter $n seq_naks_sent)"
		[ "$(counter $n seq_naks_sent)" -eq 0 ] || return 1
	done
	[ "$(counter A moves)" -gt 0 ] && [ "$(counter A sacks_received)" -eq 0 ]
}
check "nothing came out of its turn, though flows moved" nothing_reordered
stop_daemons
fabric_stop
finish
