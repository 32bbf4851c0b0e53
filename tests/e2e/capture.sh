#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rocectl capture: tshark reads what it writes; ports and queue pairs are told apart; it ends by itself, counts what it misses, and shows RoCE where the
# wire has protected packets and tunnels.
#
# usage: tests/e2e/capture.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"
need ss tshark python3 ib_write_bw rping
rocectl=$build_dir/app/rocectl/rocectl
[ -x "$rocectl" ] || skip_all "no $rocectl"
file=$tmp_dir/capture.pcapng

# capture NS OPTIONS...: of the daemon there, to $file; what it says is in $tmp_dir/capture.err
capture() {
	local where=$1
	shift
	"$rocectl" capture --socket "$(telemetry_socket "$where")" "$@" "$file" 2>"$tmp_dir/capture.err"
}
# seen [FILTER]: packets of the file that tshark's filter takes
seen() { tshark -r "$file" ${1:+-Y "$1"} 2>/dev/null | wc -l; }
# fields NAME...: a line each packet
fields() { tshark -r "$file" -T fields $(printf -- '-e %s ' "$@") 2>/dev/null; }
show() { cat "$tmp_dir/capture.err"; tshark -r "$file" 2>&1 | head -n 5; }

# traffic [OPTIONS]: between A and B, in the background, until end_traffic
traffic() {
	spawn_in B 120 "$tmp_dir/server.log" ib_write_bw -d roced0 -x 1 -F -D 100 "$@"
	server_pid=$spawned_pid
	server_settles B ib_write_bw
	spawn_in A 120 "$tmp_dir/client.log" ib_write_bw -d roced0 -x 1 -F -D 100 "$@" "$SIDE_B"
	wait_for 5 flows
}
end_traffic() {
	end_pid "$spawned_pid"
	end_pid "$server_pid"
	forget_pid "$spawned_pid"
	forget_pid "$server_pid"
}
# flows: A's queue pairs send
flows() { [ "$(qps '[n for n, s in zip(d["qpn"], d["sent_packets"]) if s > 100]')" != "[]" ]; }
# qps PYTHON: an expression over what A tells of its queue pairs
qps() { "$rocectl" paths --json --socket "$(telemetry_socket A)" | python3 -c "import json, sys; d = list(json.load(sys.stdin).values())[0]; print($1)"; }

# ------------------------------------------------------------------ plain

wire_direct 4300
make_tap_port=', { name = "p1"; device = "net_tap1,iface=ctap"; mtu = 1500; }'
WORKERS='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; }, { port = "p1"; queue = 0; } ); }' MORE_PORTS=$make_tap_port \
	CONTROL_KEYS='telemetry = true;' roced_start A "$(af_packet_device port)" 4096 4300 "$A4/24" "$A6/64" || finish
CONTROL_KEYS='telemetry = true;' roced_start B "$(af_packet_device port)" 4096 4300 "$B4/24" "$B6/64" || finish

traffic -q 2 -t 8
both_ways() {
	capture A --count 300 -t 10 && [ "$(seen)" -eq 300 ] && [ "$(seen "udp.dstport == 4791")" -gt 250 ] || { show; return 1; }
	fields frame.interface_name frame.packet_flags_direction | sort | uniq -c
	[ "$(seen 'frame.interface_name == "p0" && frame.packet_flags_direction == 1')" -gt 0 ] &&
		[ "$(seen 'frame.interface_name == "p0" && frame.packet_flags_direction == 2')" -gt 0 ] && [ "$(seen _ws.malformed)" -eq 0 ]
}
check "a capture ends after its count; port and direction are in it" both_ways
at_most() { ! fields frame.cap_len | awk '$1 > 256 {print; n++} END {exit !n}' && fields frame.len | awk '$1 > 4096 {n++} END {exit !n}'; }
check "256 bytes of each packet, and how long it was" at_most
now() {
	fields frame.time_epoch | python3 -c "
import sys, time
times = [float(line) for line in sys.stdin]
sys.exit(not (times == sorted(times) and abs(times[-1] - time.time()) < 60))"
}
check "times are those of the clock, one after another" now
decoded() { "$rocectl" decode "$file" | tail -n +2 | head -n 300 | grep -c RDMA_WRITE | grep -qv '^0$'; }
check "rocectl decode reads it too" decoded
one_qp() {
	local qpn other
	qpn=$(qps '[n for n, s in zip(d["qpn"], d["sent_packets"]) if s > 100][0]')
	other=$(qps "[p for n, p in zip(d['qpn'], d['peer_qpn']) if n == $qpn][0]")
	capture A --qp "$qpn" --count 200 -t 10 && [ "$(seen)" -eq 200 ] || { show; return 1; }
	echo "queue pair $qpn, its peer $other"
	fields frame.packet_flags_direction infiniband.bth.destqp | sort | uniq -c
	[ "$(seen "frame.packet_flags_direction == 1 && infiniband.bth.destqp != $qpn")" -eq 0 ] &&
		[ "$(seen "frame.packet_flags_direction == 2 && infiniband.bth.destqp != $other")" -eq 0 ] &&
		[ "$(seen "frame.packet_flags_direction == 1")" -gt 0 ] && [ "$(seen "frame.packet_flags_direction == 2")" -gt 0 ]
}
check "of one queue pair: nothing of the other one, and both directions" one_qp
nobody() { capture A --qp 0x3ffff --seconds 1 && [ "$(seen)" -eq 0 ] && grep -q "is no queue pair here" "$tmp_dir/capture.err"; }
check "of a queue pair that is not there: nothing, and it says so" nobody
whole() { capture A --snaplen 0 --count 50 -t 10 && fields frame.len frame.cap_len | awk '$1 != $2 {print; n++} END {exit n > 0}' && [ "$(seen infiniband.invariant.crc)" -gt 0 ]; }
check "whole packets" whole
to_pipe() {
	"$rocectl" capture --socket "$(telemetry_socket A)" -c 20 -t 10 - 2>/dev/null >"$tmp_dir/pipe.pcapng" &
	wait $! && [ "$(tshark -r "$tmp_dir/pipe.pcapng" 2>/dev/null | wc -l)" -eq 20 ]
}
check "to standard output" to_pipe

# start_capture NAME OPTIONS...: in the background; sets capture_pid
start_capture() {
	local name=$1
	shift
	"$rocectl" capture --socket "$(telemetry_socket A)" "$@" "$tmp_dir/$name.pcapng" 2>"$tmp_dir/$name.err" &
	capture_pid=$!
	wait_for 5 captures
}
captures() { tel A | grep -q '"running":1'; }
# tel NS: what the daemon tells of its capture
tel() {
	python3 -c "
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.recv(1024)
s.send(b'/roced/capture')
print(s.recv(65536).decode())" "$(telemetry_socket "$1")"
}
interrupted() {
	start_capture first -c 0 -t 0
	capture A -c 1 && return 1
	grep -q "another capture runs" "$tmp_dir/capture.err" || return 1
	kill -INT "$capture_pid"
	wait "$capture_pid" || return 1
	file=$tmp_dir/first.pcapng
	cat "$tmp_dir/first.err"
	[ "$(seen)" -gt 0 ] && [ "$(seen)" -eq "$(sed -n 's/ packets.*//p' "$tmp_dir/first.err")" ]
}
check "one at a time, until it is interrupted; all of it is in the file" interrupted
killed() {
	start_capture second -c 0 -t 0
	kill -KILL "$capture_pid"
	wait "$capture_pid"
	wait_for 5 not_captures || return 1
	tel A
	tel A | grep -q "its reader is gone" && capture A -c 1 -t 5
}
not_captures() { ! captures; }
check "who is killed leaves none behind" killed
missed() {
	local rc
	"$rocectl" capture --socket "$(telemetry_socket A)" -c 0 -t 3 -l 0 - 2>"$tmp_dir/capture.err" | (sleep 4; cat) >"$file"
	rc=${PIPESTATUS[0]}
	cat "$tmp_dir/capture.err"
	[ "$rc" -eq 1 ] && python3 "$repo_dir/tests/e2e/capture_stats.py" "$file" "$(sed -n 's/.*, \([0-9]*\) missing.*/\1/p' "$tmp_dir/capture.err")"
}
check "what a slow reader misses is counted, said, and in the file" missed
end_traffic

ports() {
	ip -n "$(ns A)" link set dev ctap up
	ip -n "$(ns A)" addr add 10.88.0.1/24 dev ctap
	in_ns A ping -c 2 -i 0.2 -W 1 10.88.0.2 >/dev/null 2>&1 &
	capture A --port p1 --seconds 2
	wait $!
	show
	[ "$(seen 'arp.dst.proto_ipv4 == 10.88.0.2')" -gt 0 ] && [ "$(seen 'frame.interface_name != "p1"')" -eq 0 ]
}
check "of one port: nothing of the other one" ports
no_port() { ! capture A --port p9 -c 1 && grep -q 'there is no port "p9"' "$tmp_dir/capture.err"; }
check "of a port that is not there: said" no_port
usage_says_so() { "$rocectl" capture; [ $? -eq 2 ] && ! capture A -c x && ! capture A --qp 0x1000000; }
check "bad usage: 2" usage_says_so
stop_daemons

# ------------------------------------------------------------------ protected

psk "$tmp_dir/A.psk" "$KEY"
psk "$tmp_dir/B.psk" "$KEY"
both_protected "" "$required4"
# speak: rping from A to B, in the background, a second from now
speak() {
	spawn_in B 20 "$tmp_dir/server.log" rping -s -a "$B4" -V -C 200 -S 1000
	server_settles B rping
	spawn_in A 20 "$tmp_dir/client.log" rping -c -a "$B4" -V -C 200 -S 1000
}
spoken() {
	wait "$spawned_pid"
	forget_pid "$spawned_pid"
}
on_the_wire() {
	speak
	capture A -c 300 -l 0 -t 10
	spoken
	fields frame.interface_name udp.dstport | sort | uniq -c
	[ "$(seen "udp.dstport == 1000")" -gt 100 ] && [ "$(seen "udp.dstport == 4791")" -eq 0 ] && [ "$(seen 'frame contains "rdma-ping-"')" -eq 0 ]
}
check "protected: the wire's packets cannot be read" on_the_wire
decrypted() {
	speak
	capture A -c 300 -l 0 -t 10 --decrypt
	spoken
	show
	fields frame.interface_name frame.packet_flags_direction udp.dstport | sort | uniq -c
	[ "$(seen "udp.dstport == 1000")" -eq 0 ] && [ "$(seen 'frame.interface_name == "p0 plain" && udp.dstport == 4791')" -gt 100 ] &&
		[ "$(seen 'frame contains "rdma-ping-" && frame.packet_flags_direction == 1')" -gt 0 ] &&
		[ "$(seen 'frame contains "rdma-ping-" && frame.packet_flags_direction == 2')" -gt 0 ] && [ "$(seen _ws.malformed)" -eq 0 ]
}
check "decrypted: RoCE that can be read, in both directions" decrypted
note() { grep -q "not as on the wire" "$tmp_dir/capture.err" && tshark -r "$file" -T fields -e frame.interface_description | grep -q "not what is on the wire"; }
check "decrypted: said, and in the file" note
stop_daemons

# ------------------------------------------------------------------ in a tunnel

make_ns GA GB
veth GA fab GB fab 4400
ip -n "$(ns A)" link del port
for n in A B; do
	veth $n port G$n host 4200
done
psk "$tmp_dir/GA.psk" "$KEY"
psk "$tmp_dir/GB.psk" "$KEY"
for n in GA GB; do
	gateway_start $n "" "protection = { psk_file = \"$tmp_dir/$n.psk\"; peers = ( { network = \"10.99.0.0/24\"; policy = \"required\"; } ); };" || finish
done
hosts
tunnel() { # NAME FILTER-THAT-MUST FILTER-THAT-MUST-NOT CAPTURE-OPTIONS...
	local must=$1 not=$2
	shift 2
	speak
	capture GA --port p0 -c 200 -t 10 "$@"
	spoken
	show
	fields frame.interface_name frame.packet_flags_direction ip.src udp.dstport | sort | uniq -c
	[ "$(seen "$must")" -gt 50 ] && [ "$(seen "$not")" -eq 0 ]
}
check "a gateway's wire: protected tunnels" tunnel "udp.dstport == 1000" "udp.dstport == 4791"
check "decrypted: the hosts' packets, out of the tunnel" tunnel 'frame.interface_name == "p0 plain" && infiniband' "udp.dstport == 1000" --decrypt
inner() { [ "$(seen "ip.src == $A4 && frame.packet_flags_direction == 2")" -gt 0 ] && [ "$(seen "ip.src == $B4 && frame.packet_flags_direction == 1")" -gt 0 ]; }
check "and of which host they are" inner

for n in A B GA GB; do roced_stop $n; done
finish
