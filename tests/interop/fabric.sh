#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Soft-RoCE at the other end of a fabric with four paths, two of them slow: whatever roced does on several paths, a peer that
# knows nothing of it gets its packets in order. Then with switches that mark and pause: a peer that follows no notification and
# hears no pause is served as ever.
#
# usage: tests/interop/fabric.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/peer.sh"

[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
fabric_ns=A
roced_iface=port

# fabric_between FABRIC-KEYS [MORE [KEYS-OF-OUR-PORT]]
fabric_between() {
	cat >"$tmp_dir/fabric.conf" <<-END
		eal = { args = [ "--no-huge", "-m", "256" ]; };
		control = { socket = "$tmp_dir/fabric.sock"; };
		fabric = { leaves = 2; hosts_per_leaf = 1; $1 };
		${2:-}
		ports = ( { name = "low"; host = 0; mtu = 4200; ${3:-}
		            device = "net_af_packet0,iface=low,blocksz=65536,framesz=8192,framecnt=2048"; },
		          { name = "guest"; host = 1; mtu = 4200;
		            device = "net_af_packet1,iface=roce,blocksz=65536,framesz=8192,framecnt=2048"; } );
	END
	fabric_start "$tmp_dir/fabric.conf"
}

# A:port -- A:low, host 0 of the fabric; the guest's tap is host 1, at the other leaf
between() {
	veth A port A low 4200
	fabric_between "spines = 4; host_mbps = 10000; leaf_mbps = 1000; buffer_bytes = 4194304; convergence_us = 100000000;" &&
		fabric_ctl rate spine 0 count 2 20 >/dev/null
}

daemon_and_guest python3 tshark

# out_of_seq: requests that came to the guest out of their turn
out_of_seq() { in_guest 10 "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/out_of_seq_request"; }

perf "four paths: ib_write_bw" ib_write_bw $V4 -n 300
perf "four paths: ib_read_bw" ib_read_bw $V4 -n 100
cm "four paths: rping" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B4 $A4
verified "four paths, 4 QPs" $V4 1024 -q 4 -s 65537
nothing_out_of_order() {
	local n
	n=$(out_of_seq)
	echo "out of sequence at the guest: $n; paths: $(fabric_value "*[p['up']['packets'] for p in s['spines']]")"
	[ "$n" = 0 ]
}
check "nothing came to Soft-RoCE out of its turn" nothing_out_of_order
check "several paths were in use, one for each queue pair" eval '[ "$(spines_used 100)" -ge 2 ]'
check "Soft-RoCE saw no packet of roced's own kind" eval '[ "$(counter A sacks_sent)" -eq 0 ]'

roced_stop A
fabric_stop

# ------------------------------------------------------------------ marks, notifications, pauses

CAPABLE=$((26 << 2 | 2)) # DSCP 26, ECT(0)
fabric_between "spines = 1; host_mbps = 1000; leaf_mbps = 50; buffer_bytes = 8388608; ecn_min_bytes = 8000; ecn_max_bytes = 50000;
	pfc_priorities = 8; pfc_xoff_bytes = 12000; pfc_xon_bytes = 6000" "trust_dscp = true;" "queue_bytes = 600000;" || finish
PORT_KEYS="pfc = [ 3 ]; rate_mbps = 1000;" MORE="channels = ( { name = \"training\"; dscp = [ 26 ]; priority = 3; } ); pfc = { detect_ms = 0; };" \
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
# where they arrive: what a packet socket sends is not seen where it is sent
ip netns exec "$(ns A)" tshark -i low -a duration:120 -w "$tmp_dir/cnp.pcapng" -f "udp port 4791" >"$tmp_dir/tshark.log" 2>&1 &
tshark_pid=$!
pids+=("$tshark_pid")
wait_for 20 grep -q "Capturing on" "$tmp_dir/tshark.log"
perf "marks and pauses: ib_write_bw" ib_write_bw $V4 -n 300 --tclass $CAPABLE
perf "marks and pauses: ib_read_bw" ib_read_bw $V4 -n 100 --tclass $CAPABLE
perf "marks and pauses: ib_send_bw of 8 bytes" ib_send_bw $V4 -n 1000 -s 8 --tclass $CAPABLE
verified "marks and pauses, 4 QPs" $V4 1024 -q 4 -s 65537
cm "marks and pauses: rping" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B4 $A4
end_pid "$tshark_pid"
forget_pid "$tshark_pid"
# notices: congestion notifications from roced, as tshark reads them
notices() { tshark -r "$tmp_dir/cnp.pcapng" -Y "infiniband.bth.opcode == 0x81 && ip.src == $A4 && ip.dsfield.dscp == 48" | wc -l; }
notified() {
	echo "marked packets from Soft-RoCE: $(counter A marked), notifications sent $(counter A cnps_sent), on the wire $(notices)"
	[ "$(counter A cnps_sent)" -gt 0 ] && [ "$(notices)" -gt 0 ]
}
check "Soft-RoCE's marked packets made notifications that tshark sees" notified
check "the fabric asked roced to pause" fabric_is "s['ports'][0]['pauses_sent'] > 0"
check "which it did" [ "$(channel training pauses)" -gt 0 ]

roced_stop A
fabric_stop
finish
