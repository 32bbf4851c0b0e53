#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Several paths: two daemons that agree by connection management, by configuration, on one side only, or not at all. What
# is on the wire is counted: acknowledgements of their own kind, and UDP source ports.
#
# usage: tests/e2e/multipath.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2

need ss tcpdump python3 ib_write_bw rping rdma_client
wire_direct 4200

# daemons A_MULTIPATH B_MULTIPATH: the groups of their configurations
daemons() {
	MORE="$1" roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" &&
		MORE="$2" roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64"
}

stop_daemons() {
	roced_stop A
	roced_stop B
}

# capture: what arrives at both ends from now on, headers only; what a packet socket sends is not seen where it is sent
capture() {
	local n
	for n in A B; do
		ip netns exec "$(ns $n)" tcpdump -i port -U -s 96 -w "$tmp_dir/to-$n.pcap" 'ip and udp dst port 4791' \
			>"$tmp_dir/tcpdump-$n.log" 2>&1 &
		eval "capture_$n=$!"
		pids+=("$!")
		wait_for 10 grep -q 'listening on' "$tmp_dir/tcpdump-$n.log"
	done
}

capture_end() {
	local n var
	sleep 0.5
	for n in A B; do
		var=capture_$n
		end_pid "${!var}"
		forget_pid "${!var}"
	done
}

# caught NS FILTER
caught() { tcpdump -nn -r "$tmp_dir/to-$1.pcap" "$2" 2>/dev/null; }

# ports NS: UDP source ports of the packets that came there, without those for QP 1
ports() { caught "$1" 'udp[12:4] & 0x00ffffff != 1' | awk '{n = split($3, part, "."); print part[n]}' | sort -u | wc -l; }

# sacks NS: RC_SACK packets that came there
sacks() { caught "$1" 'udp[8] = 0xc0' | wc -l; }

# merged NS: RC_MERGED packets that came there
merged() { caught "$1" 'udp[8] = 0xc1' | wc -l; }

is_merged() {
	echo "to B: $(merged B) packets of several messages; A sent $(counter A merged_messages) in $(counter A merged_sent)"
	[ "$(merged B)" -gt 50 ] && [ "$(counter A merged_messages)" -ge $((2 * $(counter A merged_sent))) ]
}

none_merged() { [ "$(merged A)" -eq 0 ] && [ "$(merged B)" -eq 0 ] && [ "$(sacks A)" -gt 10 ]; }

# sets what the next two judge
what_was_caught() {
	sacks_A=$(sacks A) sacks_B=$(sacks B) ports_A=$(ports A) ports_B=$(ports B)
	echo "to A: $sacks_A RC_SACK, $ports_A UDP source ports; to B: $sacks_B RC_SACK, $ports_B UDP source ports"
}

is_sprayed() {
	what_was_caught
	[ "$sacks_A" -gt 50 ] && [ "$ports_B" -gt 32 ]
}

# is_plain N: of at most so many queue pairs, each with one port at a time, of 8, and all in order
is_plain() {
	what_was_caught
	[ "$sacks_A" -eq 0 ] && [ "$sacks_B" -eq 0 ] && [ "$ports_A" -le $((8 * $1)) ] && [ "$ports_B" -le $((8 * $1)) ] &&
		[ "$(counter A seq_naks_sent)" -eq 0 ] && [ "$(counter B seq_naks_sent)" -eq 0 ]
}

# stays N: the same, each with one port, or two if it had a timeout
stays() {
	is_plain "$1" && [ "$ports_A" -le $((2 * $1)) ] && [ "$ports_B" -le $((2 * $1)) ]
}

paths_of_A() { "$build_dir/app/rocectl/rocectl" paths --socket "$(telemetry_socket A)" "$@"; }

# The table has one queue pair, to B, whose paths are used and measured.
table_is_full() {
	paths_of_A >"$tmp_dir/table" || return 1
	cat "$tmp_dir/table"
	grep -q "^qp 0x[0-9a-f]* of roced0, process [0-9]*, to $B4 qp 0x.*adaptive" "$tmp_dir/table" &&
		[ "$(awk '$1 ~ /^[0-9]+$/ && $3 > 0 && $4 > 0 && $5 > 0' "$tmp_dir/table" | wc -l)" -gt 8 ]
}

json_is_right() {
	paths_of_A --json >"$tmp_dir/list.json" && python3 - "$tmp_dir/list.json" <<-END
		import json, sys
		qps = json.load(open(sys.argv[1]))["/roced/paths"]
		assert qps["peer"] == ["$B4"] and qps["evs"] == [64] and qps["sent_packets"][0] > 0, qps
	END
}

# bad questions are answered null, and do no harm
asked_badly() {
	python3 - "$(telemetry_socket A)" <<-END
		import json, socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		s.connect(sys.argv[1])
		s.settimeout(5)
		s.recv(4096)
		def ask(question):
		    s.send(question.encode())
		    return json.loads(s.recv(65536))
		for params in ("x", "0x1000000", "-1", "1 2", "9" * 200):
		    assert ask("/roced/paths," + params) == {"/roced/paths": None}, params
		assert ask("/roced/paths,5") == {"/roced/paths": {}}
		assert ask("/roced/counters")["/roced/counters"]["sacks_received"] > 0
	END
}

nothing_shown() { paths_of_A | grep -q 'no queue pair uses several paths'; }

# What can be seen while a program runs, and after it.
shown_while_running() {
	wanted "rocectl paths, telemetry" || return 0
	local server
	spawn_in B 60 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 12
	server=$spawned_pid
	wait_for 5 tcp_listens B 18515
	spawn_in A 60 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 12 "$SIDE_B"
	check "rocectl paths shows the paths while packets take them" wait_for 15 table_is_full
	check "rocectl paths --json" json_is_right
	wait "$spawned_pid" "$server"
	forget_pid "$spawned_pid"
	forget_pid "$server"
	check "telemetry takes no bad question ill" asked_badly
	check "rocectl paths shows none when none is there" wait_for 3 nothing_shown
}

agreed() { [ "$(counter A multipath_agreed)" -gt 0 ] && [ "$(counter B multipath_agreed)" -gt 0 ]; }
nobody_agreed() { [ "$(counter A multipath_agreed)" -eq 0 ] && [ "$(counter B multipath_agreed)" -eq 0 ]; }
none_unagreed() { [ "$(counter A unagreed)" -eq 0 ] && [ "$(counter B unagreed)" -eq 0 ]; }

# ------------------------------------------------------------------ as it is without any configuration

daemons "" "" || finish
capture
cm_pair "rping, agreed by CM, data checked" 20 "rping -s -a $B4 -V -C 50 -S 60000" "rping -c -a $B4 -V -C 50 -S 60000"
cm_pair "rping IPv6, agreed by CM, data checked" 20 "rping -s -a $B6 -V -C 50 -S 4000" "rping -c -a $B6 -V -C 50 -S 4000"
pair "ib_write_bw -R, agreed by CM" 20 B "ib_write_bw -d roced0 -F -R -n 200" A "ib_write_bw -d roced0 -F -R -n 200 $B4"
pair "ib_read_bw -R, agreed by CM" 20 B "ib_read_bw -d roced0 -F -R -n 100" A "ib_read_bw -d roced0 -F -R -n 100 $B4"
cm_pair "rdma_server and rdma_client, agreed by CM" 20 "rdma_server -s $B4" "rdma_client -s $B4"
cm_pair "ucmatose, 4 connections, agreed by CM" 20 "ucmatose -b $B4 -c 4 -C 20 -S 1000" "ucmatose -s $B4 -c 4 -C 20 -S 1000"
capture_end
check "packets are sprayed" is_sprayed
check "both ends say that they have agreed" agreed
capture
perftest "ib_write_bw without CM" 20 ib_write_bw $V4 -n 500
verify "without CM, verified" 30 $V4 4096 -q 2 -s 262144
capture_end
check "nobody agreed to that, so nothing is sprayed" is_plain 3
check "nothing came to a queue pair that has not agreed" none_unagreed
stop_daemons

# ------------------------------------------------------------------ agreed by configuration

CONTROL_KEYS="telemetry = true;"
daemons "multipath = { peers = [ \"10.77.0.0/24\", \"fd77::/64\" ]; };" "multipath = { peers = [ \"$A4\", \"$A6\" ]; };" || finish
capture
perftest "ib_write_bw, listed peers" 20 ib_write_bw $V4 -n 1000
perftest "ib_write_bw -b, listed peers" 20 ib_write_bw $V4 -b -n 500
perftest "ib_send_lat, listed peers" 20 ib_send_lat $V4 -n 500
verify "listed peers, 4 QPs, verified" 60 $V4 4096 -q 4 -s 1048579
verify "listed peers, IPv6, 2 QPs, verified" 60 $V6 1024 -q 2 -s 262144
capture_end
shown_while_running
check "packets to listed peers are sprayed" is_sprayed
check "nothing came to a queue pair that is not in the lists" none_unagreed
stop_daemons

# ------------------------------------------------------------------ short messages

# short: of several kinds and sizes, agreed by CM
short() {
	pair "$1: ib_write_bw of 64 bytes" 20 B "ib_write_bw -d roced0 -F -R -n 20000 -s 64 -l 16" \
		A "ib_write_bw -d roced0 -F -R -n 20000 -s 64 -l 16 $B4"
	pair "$1: ib_send_bw of 8 bytes, both ways" 20 B "ib_send_bw -d roced0 -F -R -b -n 5000 -s 8" \
		A "ib_send_bw -d roced0 -F -R -b -n 5000 -s 8 $B4"
	cm_pair "$1: rping, data checked" 20 "rping -s -a $B4 -V -C 50 -S 40" "rping -c -a $B4 -V -C 50 -S 40"
}

daemons "multipath = { peers = [ \"10.77.0.0/24\" ]; };" "multipath = { peers = [ \"$A4\" ]; merge_wait_us = 20; };" || finish
capture
short "merged"
verify "short messages to a listed peer, 4 QPs, verified" 60 $V4 1024 -q 4 -s 200
capture_end
check "short messages are merged" is_merged
check "and both ends know it" none_unagreed
stop_daemons

daemons "multipath = { merge_bytes = 0; };" "" || finish
capture
short "one end does not merge"
capture_end
check "nothing is merged unless both want it, though packets are sprayed" none_merged
check "both ends say that they agree to the rest" agreed
stop_daemons

daemons "" "multipath = { peers = ( { network = \"$A4\"; without_cm = false; merge = false; } ); };" || finish
capture
pair "ib_write_bw of 64 bytes, one end does not merge with the other" 20 B "ib_write_bw -d roced0 -F -R -n 5000 -s 64" \
	A "ib_write_bw -d roced0 -F -R -n 5000 -s 64 $B4"
capture_end
check "nothing is merged with a strict peer" none_merged
stop_daemons

# ------------------------------------------------------------------ listed at one end only

# B, which has not listed A, sends: A answers in a way B does not know. It must end by itself, and be told.
ends_with_retries() {
	local server rc
	spawn_in A 40 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -n 100
	server=$spawned_pid
	wait_for 5 tcp_listens A 18515
	run_in B timeout 40 ib_write_bw -d roced0 -x $V4 -F -n 100 "$SIDE_A" 2>&1
	rc=$?
	end_pid "$server"
	forget_pid "$server"
	[ $rc -ne 0 ] && [ $rc -ne 124 ] && [ "$(counter B unagreed)" -gt 0 ]
}

daemons "multipath = { peers = [ \"10.77.0.0/24\" ]; };" "" || finish
perftest "ib_write_bw, only the sender has listed its peer" 30 ib_write_bw $V4 -n 500
check "ib_write_bw, only the receiver has: ends with an error and a count" ends_with_retries
check "only one end has: the log says so" wait_for 5 grep -q 'a peer uses several paths' "$tmp_dir/roced-B.log"
stop_daemons

# ------------------------------------------------------------------ off

daemons "multipath = { negotiate = false; plain = { evs = 1; }; };" "multipath = { plain = { scheduler = \"ecmp\"; }; };" || finish
capture
cm_pair "rping to a peer that would, not from here" 20 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
pair "rping from a peer that would" 20 A "rping -s -a $A4 -V -C 50 -S 4000" B "rping -c -a $A4 -V -C 50 -S 4000"
pair "ib_write_bw -R, one side is off" 20 B "ib_write_bw -d roced0 -F -R -n 200" A "ib_write_bw -d roced0 -F -R -n 200 $B4"
capture_end
check "nothing is sprayed unless both want it, and flows stay where they are" stays 4
check "and nobody says so" nobody_agreed
stop_daemons

finish
