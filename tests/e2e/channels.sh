#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Channels, limits, pauses and notifications: what is limited stays below its rate and loses nothing, a guarantee holds
# against bulk, a pause stops one priority alone, a storm ends, and marks make CNPs.
#
# usage: tests/e2e/channels.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1
BULK=0                     # traffic class octets: DSCP 0,
TRAINING=$((26 << 2))      # DSCP 26
CAPABLE=$((26 << 2 | 2))   # the same, and may be marked
PAUSE=$repo_dir/tests/tools/pause.py

need ss ib_write_bw ib_read_bw python3 tshark
wire_direct 4200

plain="multipath = false;"
tag=                       # more keys of the devices
device=$(af_packet_device port)
training='name = "training"; dscp = [ 26 ]; priority = 3;'

# daemons 'MORE of A' ['PORT_KEYS of A' ['MORE of B' ['PORT_KEYS of B']]]: B has no channels, unless it is told
daemons() {
	roced_stop A >"$tmp_dir/stop.log"
	roced_stop B >>"$tmp_dir/stop.log"
	if grep FAIL "$tmp_dir/stop.log"; then failed=$((failed + 1)); fi
	DEVICE_KEYS="$plain $tag" MORE=$1 PORT_KEYS=${2:-} roced_start A "$device" 4096 4200 "$A4/24" &&
		DEVICE_KEYS="$plain $tag" MORE=${3:-} PORT_KEYS=${4:-} roced_start B "$device" 4096 4200 "$B4/24" || finish
}

# flow NAME PORT OPTIONS...: starts ib_write_bw from A to B; the client's log is $tmp_dir/NAME.log, its pid in flow_pid
flow() {
	local name=$1 port=$2
	shift 2
	spawn_in B 40 "$tmp_dir/$name.server" ib_write_bw -d roced0 -x $V4 -F -p "$port" "$@"
	wait_for 5 tcp_listens B "$port" || return 1
	spawn_in A 40 "$tmp_dir/$name.log" ib_write_bw -d roced0 -x $V4 -F -p "$port" "$@" $SIDE_B
	flow_pid=$spawned_pid
}

# mbps NAME: what the flow had in the end, Mb/s of payload
mbps() { awk '$1 == 65536 {print int($4 * 8 * 1.048576)}' "$tmp_dir/$1.log"; }

nothing_lost() {
	local lost
	lost=$(($(counter A 'drop channel_full') + $(counter A retransmits) + $(counter A 'drop tx_full')))
	echo "lost or sent again: $lost"
	[ "$lost" -eq 0 ]
}

# ------------------------------------------------------------------ ceilings

# runs_below NAME MBPS OPTIONS...: has the rate, as far as the machine lets it, and never more
runs_below() {
	local name=$1 most=$2 got
	shift 2
	flow "$name" 18515 "$@" && wait "$flow_pid" || { cat "$tmp_dir/$name".*; return 1; }
	got=$(mbps "$name")
	echo "$name: $got of $most Mb/s"
	[ "$got" -le $((most * 102 / 100)) ] && [ "$got" -ge $((most * 40 / 100)) ]
}

daemons "channels = ( { name = \"bulk\"; ceiling_mbps = 200; }, { $training ceiling_mbps = 50; } );"
check "a channel keeps below its ceiling" runs_below bulk 200 --tclass=$BULK -D 3 -q 4
check "another one has its own" runs_below training 50 --tclass=$TRAINING -D 3
check "and what waits is not lost" nothing_lost
verify "every byte through a channel" 30 $V4 4096 -q 2 -s 262144

daemons "" "rate_mbps = 100;"
check "a port keeps below its rate" runs_below port 100 -D 3 -q 2
check "and loses nothing" nothing_lost

daemons "limits = { qp_mbps = 40; client_mbps = 100; };"
check "a queue pair keeps below its limit" runs_below one 40 -D 3
check "the queue pairs of a client below that of all" runs_below four 100 -D 3 -q 4
check "limits lose nothing" nothing_lost

# ------------------------------------------------------------------ guarantees

daemons "channels = ( { name = \"bulk\"; weight = 1000; }, { $training guaranteed_mbps = 300; } );" "rate_mbps = 400;"
guarantee_holds() {
	local bulk_pid
	flow bulk 18515 --tclass=$BULK -D 6 -q 4 -t 32 || return 1
	bulk_pid=$flow_pid
	flow training 18516 --tclass=$TRAINING -D 4 && wait "$flow_pid" || { cat "$tmp_dir"/training.*; return 1; }
	wait "$bulk_pid"
	echo "training $(mbps training) Mb/s of 300 guaranteed, bulk $(mbps bulk), of 400 in all"
	[ "$(mbps training)" -gt 150 ] && [ "$(mbps training)" -gt "$(mbps bulk)" ]
}
check "training keeps its rate, whatever bulk does" guarantee_holds
check "and loses nothing either" nothing_lost

# ------------------------------------------------------------------ pauses

pause_channels="channels = ( { name = \"bulk\"; }, { $training } );"
hardware_is_refused() {
	roced_config A "$(af_packet_device port)" 4096 4200 "$A4/24" >"$tmp_dir/hardware.conf"
	in_ns A timeout 30 "$roced_bin" -c "$tmp_dir/hardware.conf" -f >"$tmp_dir/hardware.log" 2>&1 && return 1
	cat "$tmp_dir/hardware.log"
	grep -q 'port "p0": pfc_mode: the NIC cannot do it, its driver has no flow control of queues' "$tmp_dir/hardware.log"
}
roced_stop A
MORE=$pause_channels PORT_KEYS='pfc = [ 3 ]; pfc_mode = "hardware";' check "flow control of a NIC that has none is refused" hardware_is_refused
daemons "$pause_channels pfc = { detect_ms = 0; };" "pfc = [ 3 ]; rate_mbps = 400;"

# grows CHANNEL: sends something in half a second
grows() {
	local before after
	before=$(channel "$1" packets)
	sleep 0.5
	after=$(channel "$1" packets)
	echo "$1: $before, then $after packets"
	[ "$after" -gt "$before" ]
}

pauses_come() { [ "$(channel training pauses)" -gt 2 ]; }
one_priority_stops() {
	local bulk training
	flow bulk 18515 --tclass=$BULK -D 13 -u 18 || return 1
	bulk=$flow_pid
	flow training 18516 --tclass=$TRAINING -D 12 -u 18 || return 1
	training=$flow_pid
	sleep 1
	in_ns B "$PAUSE" port 3 65535 5 &
	wait_for 5 pauses_come || return 1
	sleep 0.3
	grows training && return 1
	grows bulk || return 1
	wait $!
	sleep 0.5
	grows training || return 1
	wait "$training" && wait "$bulk" || { cat "$tmp_dir"/training.* "$tmp_dir"/bulk.*; return 1; }
}
check "a pause stops its priority and no other, and ends" one_priority_stops
check "it was counted" [ "$(channel training pauses)" -gt 10 ]
check "and nothing was lost" [ "$(counter A 'drop channel_full')" -eq 0 ]

other_priority_is_ignored() {
	flow training 18515 --tclass=$TRAINING -D 5 || return 1
	sleep 1
	in_ns B "$PAUSE" port 0,5 65535 0
	grows training || return 1
	wait "$flow_pid"
}
check "pauses of priorities that are not listed are not followed" other_priority_is_ignored

storm_is_dropped() {
	flow training 18515 --tclass=$TRAINING -D 12 -u 18 || return 1
	wait_for 5 grows training || return 1
	in_ns B "$PAUSE" port 3 65535 2
	sleep 1
	echo "storms $(channel training storms), dropped $(counter A 'drop pfc_storm')"
	[ "$(channel training storms)" -eq 1 ] || return 1
	# what was dropped is sent again after a timeout of a second or two
	wait_for 6 grows training || { grows training; return 1; }
	wait "$flow_pid"
}
daemons "$pause_channels pfc = { detect_ms = 300; restore_ms = 300; };" "pfc = [ 3 ]; rate_mbps = 400;"
check "a storm is found once, and what comes after it works" storm_is_dropped

storm_is_passed_over() {
	local before
	flow training 18515 --tclass=$TRAINING -D 8 -u 18 || return 1
	sleep 0.5
	in_ns B "$PAUSE" port 3 65535 4 &
	wait_for 5 pauses_come || return 1
	sleep 0.5
	grows training || return 1
	wait $!
	wait "$flow_pid"
}
daemons "$pause_channels pfc = { detect_ms = 300; restore_ms = 300; forward = true; };" "pfc = [ 3 ]; rate_mbps = 400;"
check "or passed over" storm_is_passed_over

# ------------------------------------------------------------------ pauses that are asked for

# A daemon that was held up finds its receive queue long.
CONTROL_KEYS="telemetry = true;" daemons "$pause_channels pfc = { detect_ms = 0; };" "pfc = [ 0, 3 ]; rate_mbps = 2000;" "$pause_channels" \
	"pfc_send = [ 3 ]; rx_descriptors = 256; rate_mbps = 2000;"

hold_up() {
	kill -STOP "$roced_pid_B"
	sleep 0.03
	kill -CONT "$roced_pid_B"
}

# flow_through NAME TOS: with the daemon of B held up now and then
flow_through() {
	flow "$1" 18515 --tclass="$2" -D 3 -q 8 -t 16 -u 18 || return 1
	sleep 0.7
	for _ in 1 2 3 4; do
		hold_up
		sleep 0.3
	done
	wait "$flow_pid"
}

pauses_are_asked_for() {
	ip netns exec "$(ns A)" timeout 20 tshark -i port -a duration:6 -w "$tmp_dir/pfc.pcapng" -f "ether proto 0x8808" >"$tmp_dir/tshark.log" 2>&1 &
	local tshark=$!
	sleep 2
	flow_through training $TRAINING || return 1
	wait $tshark
	echo "XOFF $(counter B xoff_sent), XON $(counter B xon_sent), followed $(channel training pauses), for $(channel training paused_ns) ns"
	[ "$(counter B xoff_sent)" -gt 0 ] && [ "$(counter B xon_sent)" -gt 0 ] && [ "$(channel training paused_ns)" -gt 0 ]
}
check "a daemon with a long receive queue asks for a pause" pauses_are_asked_for
# sent_pfc: class enable vector and the third priority's quanta of each PFC frame
sent_pfc() {
	tshark -r "$tmp_dir/pfc.pcapng" -T fields -e eth.dst -e macc.cbfc.enbv -e macc.cbfc.pause_time.c3 2>"$tmp_dir/tshark.log"
}
frames_name_one_priority() {
	sent_pfc | sort | uniq -c
	! sent_pfc | grep -qvE '^01:80:c2:00:00:01.0x0008.(65535|0)$' && sent_pfc | grep -qE 65535'$' && sent_pfc | tail -n 1 | grep -qE '\s0$'
}
check "tshark sees that, for one priority, and its end" frames_name_one_priority
check "and nothing is lost" nothing_lost
telemetry_tells() {
	python3 - "$(telemetry_socket A)" \
		"$(telemetry_socket B)" <<-END
		import json, socket, sys
		def ask(path, question):
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    s.connect(path)
		    s.settimeout(5)
		    s.recv(4096)
		    s.send(question.encode())
		    return json.loads(s.recv(65536))["/roced/ports"]
		a, b = (ask(path, "/roced/ports,p0") for path in sys.argv[1:])
		print(a, b)
		assert a["pfc"] == b["pfc"] == "software" and b["port"] == "p0" and b["up"] == 1
		assert [p for p in range(8) if b["xoff_sent"][p]] == [p for p in range(8) if b["xon_sent"][p]] == [3]
		assert [p for p in range(8) if a["pauses"][p]] == [3] and not any(a["xoff_sent"])
		everything = ask(sys.argv[2], "/roced/ports")
		assert everything["port"] == ["p0"] and everything["pfc"] == ["software"], everything
		assert ask(sys.argv[2], "/roced/ports,p9") == {}
	END
}
check "telemetry tells who paused whom" telemetry_tells
other_priority_is_not_paused() {
	local before
	before=$(counter B xoff_sent)
	flow_through bulk $BULK || return 1
	echo "$before, then $(counter B xoff_sent)"
	[ "$(counter B xoff_sent)" -eq "$before" ] && [ "$(channel bulk pauses)" -eq 0 ]
}
check "for others no pause is asked for" other_priority_is_not_paused

# What one worker receives for another waits in the ring between them as well.
device=${device/qpairs=1/qpairs=2} WORKERS='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; } ); },
	{ lcore = 2; cpus = "0-1"; rx = ( { port = "p0"; queue = 1; } ); }' CONTROL_KEYS="telemetry = true;" \
	daemons "$pause_channels pfc = { detect_ms = 0; };" "pfc = [ 0, 3 ]; rate_mbps = 2000;" "$pause_channels" \
	"pfc_send = [ 3 ]; rx_descriptors = 256; rate_mbps = 2000;"
check "so does one with two workers" pauses_are_asked_for
check "which all let go again, and nothing is lost" nothing_lost

# ------------------------------------------------------------------ marks and notifications

marks="channels = ( { name = \"bulk\"; }, { $training ecn_min_kbytes = 20; ecn_max_kbytes = 100; } );"
daemons "$marks" "rate_mbps = 200;" "congestion = { cnp_gap_us = 1000; cnp_dscp = 48; };"

marks_make_cnps() {
	local sent received
	ip netns exec "$(ns A)" timeout 20 tshark -i port -a duration:5 -w "$tmp_dir/cnp.pcapng" -f "udp port 4791" >"$tmp_dir/tshark.log" 2>&1 &
	local tshark=$!
	sleep 2
	flow training 18515 --tclass=$CAPABLE -D 2 -q 2 || return 1
	wait "$flow_pid" || return 1
	wait $tshark
	sent=$(counter B cnps_sent) received=$(counter A cnps_received)
	echo "marked $(channel training marked_here), seen $(counter B marked), CNPs sent $sent, received $received"
	[ "$sent" -gt 10 ] && [ "$received" -gt 10 ] && [ "$sent" -lt 10000 ]
}
check "a long queue marks, and its marks make notifications" marks_make_cnps
cnps_on_the_wire() {
	tshark -r "$tmp_dir/cnp.pcapng" -Y "infiniband.bth.opcode == 0x81" -T fields -e ip.src -e ip.dsfield.dscp \
		-e infiniband.bth.psn | sort | uniq -c
	[ "$(tshark -r "$tmp_dir/cnp.pcapng" -Y "infiniband.bth.opcode == 0x81 && ip.src == $B4 && ip.dsfield.dscp == 48" |
		wc -l)" -gt 10 ]
}
check "tshark sees them" cnps_on_the_wire
not_capable_is_not_marked() {
	local before after
	before=$(counter B marked)
	flow training 18515 --tclass=$TRAINING -D 1 -q 2 && wait "$flow_pid" || return 1
	after=$(counter B marked)
	[ "$before" -eq "$after" ]
}
check "packets that may not be marked are not" not_capable_is_not_marked

# ------------------------------------------------------------------ priority code points

# The bulk channel leaves the device's, 1; data and notifications have those of their channels.
tag="vlan = 42; priority = 1;"
daemons "channels = ( { name = \"bulk\"; }, { $training send_pcp = 3; ecn_min_kbytes = 20; ecn_max_kbytes = 100; } );" "rate_mbps = 200;" \
	"channels = ( { name = \"bulk\"; }, { name = \"notice\"; dscp = [ 48 ]; send_pcp = 6; } ); congestion = { cnp_gap_us = 1000; cnp_dscp = 48; };"

# Each side sees what it receives; what it sends need not pass where one can look.
# tagged PCP DSCP SIDE: frames with both that came from that side
tagged() {
	tshark -r "$tmp_dir/from-$3.pcapng" -Y "vlan.id == 42 && vlan.priority == $1 && ip.dsfield.dscp == $2 && udp.port == 4791" |
		grep -c "$([ "$3" = A ] && echo "$A4 .* $B4" || echo "$B4 .* $A4")"
}
# watch_from SIDE: captures at the other one
watch_from() {
	ip netns exec "$(ns "$([ "$1" = A ] && echo B || echo A)")" timeout 20 tshark -i port -a duration:6 -s 200 \
		-w "$tmp_dir/from-$1.pcapng" >"$tmp_dir/tshark-$1.log" 2>&1 &
}
tags_tell_the_channel() {
	local frames n a b
	watch_from A
	a=$!
	watch_from B
	b=$!
	sleep 2
	flow training 18515 --tclass=$CAPABLE -D 1 -q 2 && wait "$flow_pid" || return 1
	flow bulk 18516 --tclass=$BULK -n 200 && wait "$flow_pid" || return 1
	wait $a $b
	frames="$(tagged 3 26 A) $(tagged 1 0 A) $(tagged 6 48 B) $(tagged 1 26 B)"
	echo "training, bulk, notifications, acknowledgements: $frames"
	for n in $frames; do [ "$n" -gt 10 ] || return 1; done
	[ "$(tagged 1 26 A)" -eq 0 ] && [ "$(tagged 3 0 A)" -eq 0 ] && [ "$(tagged 1 48 B)" -eq 0 ]
}
check "tags tell the channel, of data and of notifications" tags_tell_the_channel

roced_stop A
roced_stop B
finish
