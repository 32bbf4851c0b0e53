#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Congestion notification through the fabric: a switch marks, the receiver notifies, and a sender that follows notifications goes
# as fast as the way is and no faster, where one that does not keeps the switch's queue full of marks. Daemons that agree to
# several paths have a controller between them.
#
# usage: tests/e2e/fabric_cnp.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"

V4=1
CAPABLE=$((26 << 2 | 2)) # DSCP 26, ECT(0)

need ss ib_write_bw python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_fabric 4200
fabric_config "host_mbps = 1000; leaf_mbps = 100; buffer_bytes = 8388608; ecn_min_bytes = 50000; ecn_max_bytes = 200000" \
	>"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish

# One port of all flows, so that the one way they take is what they share.
plain="multipath = { plain = { scheduler = \"ecmp\"; evs = 1; }; };"
# A step back of half is made up for in a second or so: slower than notifications come, for this is a slow link.
dcqcn="dcqcn = { cut_period_ns = 50000; alpha_period_ns = 1000000; increase_timer_ns = 10000000; increase_bytes = 4000000; add_mbps = 2; hyper_mbps = 2; };"

# daemons KEYS: of A's congestion group
daemons() {
	DEVICE_KEYS="multipath = false;" MORE="$plain $dcqcn congestion = { $1 };" \
		roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" || finish
	DEVICE_KEYS="multipath = false;" MORE="$plain congestion = { cnp_gap_us = 1000; };" \
		roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" || finish
}

marked=0
# run_with NAME KEYS: sets marked, of 1,000 packets that came to B
run_with() {
	daemons "$2"
	perftest "$1" 60 ib_write_bw $V4 -D 6 -t 16 -u 18 --tclass $CAPABLE
	marked=$(($(counter B marked) * 1000 / ($(counter B rx_pkts) + 1)))
	notified=$(counter A cnps_received)
	sent_mbps=$(awk '$1 == 65536 {print int($4 * 8 * 1.048576)}' "$tmp_dir/client.log")
	echo "    $1: $marked of 1000 packets marked, $notified notifications, $sent_mbps Mb/s"
	roced_stop A
	roced_stop B
}

run_with "a sender that does not follow notifications" "follow_cnps = false;"
without=$marked without_mbps=$sent_mbps
check "most of its packets are marked" [ "$without" -gt 300 ]
run_with "one that does" "follow_cnps = true; rate_mbps = 1000;"
check "it is notified" [ "$notified" -gt 10 ]
check "far fewer are, so the queue is short" [ $((2 * marked)) -lt "$without" ]
check "and it has most of the way" [ $((2 * sent_mbps)) -gt "$without_mbps" ]

# ------------------------------------------------------------------ a way that gets narrow, and wide again

# rate_of_A: sets rate, Mb/s, what A sends in 3 s
rate_of_A() {
	local before
	before=$(fabric_value "s['ports'][0]['rx_bytes']")
	sleep 3
	rate=$((($(fabric_value "s['ports'][0]['rx_bytes']") - before) * 8 / 3000000))
}

falls_and_recovers() {
	local wide narrow server client notified
	spawn_in B 60 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 30 -t 16 -u 18 --tclass $CAPABLE
	server=$spawned_pid
	wait_for 5 tcp_listens B 18515
	spawn_in A 60 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 30 -t 16 -u 18 --tclass $CAPABLE $SIDE_B
	client=$spawned_pid
	sleep 2
	rate_of_A
	wide=$rate notified=$(counter A cnps_received)
	fabric_ctl rate spine 0 count 4 20 >/dev/null || return 1
	sleep 3
	rate_of_A
	narrow=$rate notified=$(($(counter A cnps_received) - notified))
	fabric_ctl rate spine 0 count 4 100 >/dev/null || return 1
	sleep 3
	rate_of_A
	echo "$wide Mb/s, $narrow and $notified notifications with a fifth of the way, $rate with all of it again"
	wait "$client" || { cat "$tmp_dir"/client.log*; return 1; }
	wait "$server"
	forget_pid "$client"
	forget_pid "$server"
	[ "$notified" -gt 0 ] && [ "$narrow" -gt 0 ] && [ $((2 * narrow)) -lt "$wide" ] && [ "$rate" -gt $((2 * narrow)) ]
}
daemons "follow_cnps = true; rate_mbps = 1000;"
check "a sender's rate falls when the way gets narrow, and recovers" falls_and_recovers
roced_stop A
roced_stop B
fabric_stop

# ------------------------------------------------------------------ a class with thresholds of its own

# Of DSCP 26, which is priority 3 here, nothing is marked whatever it queues; DSCP 10, priority 1, is.
fabric_config "host_mbps = 1000; leaf_mbps = 100; buffer_bytes = 8388608; ecn_min_bytes = 50000; ecn_max_bytes = 200000;
	classes = ( { priority = 3; ecn_min_bytes = 0; ecn_max_bytes = 0; } );" "trust_dscp = true;" >"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish
daemons "follow_cnps = false;"
# marks_of TCLASS: sets marked, of the packets that come to B meanwhile
marks_of() {
	local before
	before=$(counter B marked)
	perftest "traffic class $1" 60 ib_write_bw $V4 -D 3 -t 16 -u 18 --tclass "$1"
	marked=$(($(counter B marked) - before))
}
marks_of $((10 << 2 | 2))
check "a class is marked by the thresholds of all ($marked)" [ "$marked" -gt 100 ]
marks_of $CAPABLE
check "a class with its own is marked by these: never ($marked)" [ "$marked" -eq 0 ]
roced_stop A
roced_stop B
fabric_stop

# ------------------------------------------------------------------ a controller between daemons that agree

fabric_config "host_mbps = 1000; leaf_mbps = 100; buffer_bytes = 8388608; ecn_min_bytes = 5000; ecn_max_bytes = 40000" \
	>"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish
# controlled NAME [KEYS]: a program's turn at a shared CPU is part of the round trip here
controlled() {
	local n addr
	for n in A B; do
		[ $n = A ] && addr=$A4 || addr=$B4
		CONTROL_KEYS="telemetry = true;" PORT_KEYS="rate_mbps = 1000;" \
			MORE="multipath = { peers = [ \"10.77.0.0/24\" ]; }; congestion = { controller = \"$1\"; ${2:-} base_rtt_us = 2000; };" \
			roced_start $n "$(af_packet_device port)" 4096 4200 "$addr/24" || finish
	done
}
controlled predictive

paths_of_A() {
	"$build_dir/app/rocectl/rocectl" paths --socket "$(telemetry_socket A)" "$@"
}
# told_of_controller NAME
told_of_controller() {
	local mbps
	spawn_in B 40 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 6 -q 4 -t 16 -u 18
	wait_for 5 tcp_listens B 18515
	spawn_in A 40 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 6 -q 4 -t 16 -u 18 $SIDE_B
	sleep 3
	paths_of_A >"$tmp_dir/paths" || return 1
	grep 'congestion control' "$tmp_dir/paths"
	[ "$(grep -cE '^   congestion control '"$1"', window [1-9][0-9]* bytes, (no pace|pace [0-9.]+ Mb/s)$' "$tmp_dir/paths")" -eq 4 ] ||
		return 1
	wait "$spawned_pid" || { cat "$tmp_dir"/client.log*; return 1; }
	mbps=$(awk '$1 == 65536 {print int($4 * 8 * 1.048576)}' "$tmp_dir/client.log")
	echo "$mbps Mb/s, $(counter B marked) of $(counter B rx_pkts) packets marked"
	[ "$mbps" -gt 40 ]
}
check "ib_write_bw under predictive, its windows told" told_of_controller predictive
check "packets are marked" [ "$(counter B marked)" -gt 0 ]
check "nobody is notified, for acknowledgements tell of marks" [ "$(counter A cnps_received)" -eq 0 ]
verify "every byte under predictive" 60 $V4 4096 -q 4 -s 262144
roced_stop A
roced_stop B
controlled learned "model = \"$repo_dir/config/cc/learned.model\";"
check "ib_write_bw under learned, its windows told" told_of_controller learned
verify "every byte under learned" 60 $V4 4096 -q 4 -s 262144
roced_stop A
roced_stop B
fabric_stop
finish
