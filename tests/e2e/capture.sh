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
# seen FILTER: packets of the file that tshark's filter takes
seen() { tshark -r "$file" -Y "$1" 2>/dev/null | wc -l; }
# list: a line each packet of the file, for rows
list() {
	tshark -r "$file" -T fields -E separator=, -E occurrence=f -e frame.interface_name -e frame.packet_flags_direction -e ip.src \
		-e udp.dstport -e infiniband.bth.destqp -e frame.len -e frame.cap_len -e frame.time_epoch -e _ws.malformed \
		-e infiniband.invariant.crc >"$tmp_dir/list" 2>"$tmp_dir/tshark.err"
}
# rows CONDITION: packets of the last list for which awk's condition is true
rows() {
	awk -F, "{iface = \$1; dir = substr(\$2, length(\$2)); src = \$3; port = \$4; qp = \$5; len = \$6; cap = \$7; time = \$8; bad = \$9; crc = \$10}
		$1 {n++} END {print n + 0}" "$tmp_dir/list"
}
# some CONDITION, none CONDITION
some() { [ "$(rows "$1")" -gt 0 ] || { echo "none of: $1"; show; return 1; }; }
none() { [ "$(rows "$1")" -eq 0 ] || { echo "$(rows "$1") of: $1"; show; return 1; }; }
show() {
	cat "$tmp_dir/capture.err"
	cut -d, -f 1-6 "$tmp_dir/list" | sort | uniq -c | sort -n | tail -n 6
}

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
	capture A --count 300 -t 10 && list && [ "$(rows 1)" -eq 300 ] || { show; return 1; }
	some "port == 4791" && some 'iface == "p0" && dir == 1' && some 'iface == "p0" && dir == 2' && none 'iface != "p0"' && none "bad != \"\""
}
check "a capture ends after its count; port and direction are in it" both_ways
check "256 bytes of each packet" none "cap > 256"
check "and how long it was" some "len > 4096"
now() {
	cut -d, -f 8 "$tmp_dir/list" | python3 -c "
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
	echo "queue pair $qpn, its peer $other"
	capture A --qp "$qpn" --count 200 -t 10 && list && [ "$(rows 1)" -eq 200 ] || { show; return 1; }
	qpn=$(printf '0x%06x' "$qpn") other=$(printf '0x%06x' "$other")
	none "dir == 1 && qp != \"$qpn\"" && none "dir == 2 && qp != \"$other\"" && some "dir == 1" && some "dir == 2"
}
check "of one queue pair: nothing of the other one, and both directions" one_qp
nobody() { capture A --qp 0x3ffff --seconds 1 && list && none 1 && grep -q "is no queue pair here" "$tmp_dir/capture.err"; }
check "of a queue pair that is not there: nothing, and it says so" nobody
whole() { capture A --snaplen 0 --count 50 -t 10 && list && none "cap != len" && some "crc != \"\""; }
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
	cat "$tmp_dir/first.err"
	file=$tmp_dir/first.pcapng list && some 1 && [ "$(rows 1)" -eq "$(sed -n 's/ packets.*//p' "$tmp_dir/first.err")" ]
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
	list && none 'iface != "p1"' && [ "$(seen 'arp.dst.proto_ipv4 == 10.88.0.2')" -gt 0 ]
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
	list && some "port == 1000" && none "port == 4791" && ! grep -aq rdma-ping- "$file"
}
check "protected: the wire's packets cannot be read" on_the_wire
decrypted() {
	speak
	capture A -c 300 -l 0 -t 10 --decrypt
	spoken
	list && none "port == 1000" && some 'iface == "p0 plain" && port == 4791' && none 'bad != ""' &&
		[ "$(seen 'frame contains "rdma-ping-" && frame.packet_flags_direction == 1')" -gt 0 ] &&
		[ "$(seen 'frame contains "rdma-ping-" && frame.packet_flags_direction == 2')" -gt 0 ]
}
check "decrypted: RoCE that can be read, in both directions" decrypted
note() { grep -q "not as on the wire" "$tmp_dir/capture.err" && grep -aq "not what is on the wire" "$file"; }
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
tunnel() { # CONDITION-THAT-MUST-BE CONDITION-THAT-MUST-NOT CAPTURE-OPTIONS...
	local must=$1 not=$2
	shift 2
	speak
	capture GA --port p0 -c 200 -t 10 "$@"
	spoken
	list && some "$must" && none "$not"
}
check "a gateway's wire: protected tunnels" tunnel "port == 1000" "port == 4791"
check "decrypted: the hosts' packets, out of the tunnel" tunnel 'iface == "p0 plain" && qp != ""' "port == 1000" --decrypt
inner() { some "src == \"$A4\" && dir == 2" && some "src == \"$B4\" && dir == 1"; }
check "and of which host they are" inner

for n in A B GA GB; do roced_stop $n; done
finish
