#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Gateways at their limits: what they refuse and how they say so, packets of hosts to the last bit, several workers,
# IPv6 tunnels, hosts with VLAN tags, a table of flows that is full, and strangers at the fabric.
#
# usage: tests/e2e/gateway_more.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"

frames=$repo_dir/tests/tools/gateway_frames.py

need ss ib_write_bw python3 tshark ping
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_gateways 4400
wire_hosts 4200
kernel_hosts 1500
GATEWAY_HOSTS="host khost"
PATIENT='reorder_us = 300000; silence_us = 300000;'
gateway_fabric "host_mbps = 1000; leaf_mbps = 400; buffer_bytes = 4194304; convergence_us = 100000000;" || finish
psk "$tmp_dir/psk" "$KEY"

gateways() {
	gateway_start GA "$PATIENT $1" "${2:-}" || finish
	gateway_start GB "$PATIENT $1" "${2:-}" || finish
}
stop_gateways() {
	roced_stop GA
	roced_stop GB
}
stop_hosts() {
	roced_stop A
	roced_stop B
}

# at_least NS COUNTER N, and exactly
at_least() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -ge "$3" ]; }
exactly() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -eq "$3" ]; }

# asked COMMAND PYTHON: what GA's telemetry says, d, makes it true
asked() {
	local socket answer
	socket=$(telemetry_socket GA)
	answer=$(in_ns GA python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.recv(16384)
s.send(sys.argv[2].encode())
print(s.recv(65536).decode())' \
		"$socket" "$1")
	echo "$answer"
	python3 -c '
import json, sys
d = list(json.loads(sys.argv[1]).values())[0]
sys.exit(not eval(sys.argv[2]))' "$answer" "$2"
}

# heard KEY=VALUE...: what the kernel host A sends arrives at B's as it left, to the last bit
heard() {
	local listener rc=0
		: >"$tmp_dir/heard.err" # not that of the one before
	ip netns exec "$(ns B)" python3 "$frames" listen kern 5 "${COUNT:-3}" >"$tmp_dir/heard" 2>"$tmp_dir/heard.err" &
	listener=$!
	pids+=("$listener")
	wait_for 5 grep -q listening "$tmp_dir/heard.err"
	in_ns A python3 "$frames" roce kern $K4A $K4B count="${COUNT:-3}" "$@" >"$tmp_dir/said"
	wait "$listener" || rc=1
	forget_pid "$listener"
	diff "$tmp_dir/said" "$tmp_dir/heard" | cut -c1-150
	cmp -s "$tmp_dir/said" "$tmp_dir/heard" || rc=1
	return $rc
}

# ------------------------------------------------------------------ packets of hosts

GATEWAY_HOSTS="host khost htap" gateways "max_flows = 64; max_flows_per_host = 32;"
in_ns B ping -c 1 -W 2 $K4A >/dev/null
check "a host's packet arrives as it left" heard
check "also with TTL 1, which a tunnel is no hop for" heard ttl=1
check "whatever its ECN field and DSCP" heard tos=233
check "that of the longest IP packet of the host's port" heard bytes=1452
check "with a VLAN tag" heard vlan=7
COUNT=300 check "300 of one flow arrive in their order" heard
# a packet socket would wait for the rest of it
fragments() {
	in_ns GA python3 "$frames" roce htap $K4A $K4B count=5 fragment=1 >/dev/null
	sleep 0.3
	exactly GA "drop fragment" 5
}
check "fragments are refused and counted" fragments
many() {
	in_ns A python3 "$frames" roce kern $K4A $K4B count=400 flows=200 >/dev/null
	sleep 0.5
	echo "delivered $(counter GB delivered), of none of the flows that are kept in order $(counter GA unordered)," \
		"flows $(counter GA flows)"
	[ "$(counter GA unordered)" -gt 300 ] && [ "$(counter GA flows)" -le 32 ]
}
check "a host with more flows than its share has the others delivered without a place in order" many
check "and nothing of it is dropped" eval '[ "$(counter GB delivered)" -eq "$(counter GA tunnelled)" ]'
check "telemetry tells of flows and paths" asked /roced/gateway \
	"d['flows'] > 0 and d['far_gateway'] == ['$GB4'] and d['reachable'] == [1] and d['unordered'] > 300"
check "and of each path" asked /roced/gateway,0 \
	"len(d['udp_port']) == 16 and sum(d['sent']) > 400 and sum(d['dead_at_workers']) == 0"
shown() {
	"$build_dir/app/rocectl/rocectl" gateway --socket "$(telemetry_socket GA)" "$@" | tee "$tmp_dir/shown"
	return "${PIPESTATUS[0]}"
}
all_shown() {
	shown || return 1
	grep -Eq "tunnelled +$(counter GA tunnelled)( |\$)" "$tmp_dir/shown" &&
		grep -Eq "unordered +$(counter GA unordered)( |\$)" "$tmp_dir/shown" &&
		grep -Eq "^$GB4 +reachable +[0-9]+ +16 +0 +[0-9]+ " "$tmp_dir/shown"
}
check "rocectl gateway shows counters and far gateways" all_shown
paths_shown() {
	shown $GB4 || return 1
	[ "$(awk '$1 ~ /^[0-9]+$/ && NF == 7 { n++; sent += $3 } END { print (sent > 400) * n }' \
		"$tmp_dir/shown")" -eq 16 ]
}
check "and the paths to one" paths_shown
json_shown() {
	shown --json $GB4 && python3 -c '
import json, sys
sys.exit(len(json.load(sys.stdin)["/roced/gateway"]["sent"]) != 16)' <"$tmp_dir/shown"
}
check "also as the daemon says it" json_shown
stranger_shown() {
	local rc=0
	shown 10.99.0.77 2>"$tmp_dir/shown.err" || rc=$?
	cat "$tmp_dir/shown.err"
	[ $rc -eq 2 ] && grep -q "10.99.0.77: no far gateway has that address" "$tmp_dir/shown.err"
}
check "and status 2 for one that is none" stranger_shown
check "of no other one" asked /roced/gateway,1 "d == {}"
nobody() {
	in_ns A python3 "$frames" roce kern $K4A 10.77.0.2 count=5 >/dev/null
	sleep 1
	at_least GB "drop no_host" 5 && at_least GB hosts_asked 1
}
check "hosts are asked for one that nobody has seen, and its packets then dropped" nobody

# ------------------------------------------------------------------ strangers

strangers() {
	local mac
	mac=$(in_ns GB cat /sys/class/net/fab/address)
	in_ns F python3 "$frames" tunnels b $GA4 $GB4 "$mac" >/dev/null
	in_ns F python3 "$frames" tunnels b 10.99.0.7 $GB4 "$mac" >/dev/null
	sleep 0.3
	at_least GB "drop tunnel" 300
}
check "what is no tunnel packet is refused and counted" strangers
check "and the gateway lives" heard
stop_gateways

required="protection = { psk_file = \"$tmp_dir/psk\";
	peers = ( { network = \"10.99.0.0/24\"; policy = \"required\"; } ); };"
gateways "" "$required"
# what comes before there are keys is dropped
in_ns A python3 "$frames" roce kern $K4A $K4B >/dev/null
wait_for 5 grep -q "protection with $GB4.*key" "$tmp_dir/roced-GA.log"
sleep 0.5
check "protected: a host's packet arrives as it left" heard
plain_refused() {
	local before
	before=$(counter GB delivered)
	in_ns F python3 "$frames" tunnels b $GA4 $GB4 "$(in_ns GB cat /sys/class/net/fab/address)" >/dev/null
	sleep 0.3
	at_least GB "drop plain" 100 && exactly GB delivered "$before"
}
check "protected: plain tunnels of the far gateway's address are refused" plain_refused
stop_gateways

# ------------------------------------------------------------------ nobody at the other end

gateway_start GA "$PATIENT" || finish
alone() {
	local i
	for i in 1 2 3 4 5; do
		in_ns A python3 "$frames" roce kern $K4A $K4B count=5 >/dev/null
		sleep 1
	done
	grep -E "tunnel to $GB4: no neighbour answers" "$tmp_dir/roced-GA.log"
}
check "a far gateway that is not there makes an alarm that says so" alone
check "which telemetry has" asked /roced/alarms "d['alarm'] == ['far_gateway']"
gateway_start GB "$PATIENT" || finish
there() {
	local i
	for i in 1 2 3; do
		in_ns A python3 "$frames" roce kern $K4A $K4B count=5 >/dev/null
		sleep 1
	done
	asked /roced/alarms "d['active'] == [0]"
}
check "and is over when it is" there
stop_gateways

# ------------------------------------------------------------------ a tunnel that is too small

FABRIC_MTU=4000 gateways ""
hosts
watch_host() {
	ip netns exec "$(ns A)" timeout 30 tshark -i port -a duration:"$1" -w "$tmp_dir/host.pcapng" \
		>"$tmp_dir/tshark.log" 2>&1 &
	tshark_pid=$!
	pids+=("$tshark_pid")
	wait_for 20 grep -q "Capturing on" "$tmp_dir/tshark.log"
}
watch_host 8
too_long() {
	spawn_in B 10 "$tmp_dir/server.log" ib_write_bw -d roced0 -x 1 -F -m 4096 -n 5
	server_settles B ib_write_bw
	! run_in A timeout 10 ib_write_bw -d roced0 -x 1 -F -m 4096 -n 5 $SIDE_B || return 1
	end_pid "$spawned_pid"
	forget_pid "$spawned_pid"
	at_least GA "drop tunnel_mtu" 1
}
check "packets that do not fit into the tunnel are counted" too_long
wait "$tshark_pid"
forget_pid "$tshark_pid"
told() {
	local long="icmp.type == 3 && icmp.code == 4"
	tshark -r "$tmp_dir/host.pcapng" -Y "$long" -T fields -e icmp.mtu -e ip.src 2>/dev/null | sort | uniq -c
	[ "$(tshark -r "$tmp_dir/host.pcapng" -Y "$long && icmp.mtu == 3956" 2>/dev/null | wc -l)" -gt 0 ]
}
check "the host hears by ICMP what fits" told
said="tunnel to $GB4: hosts send IP packets of 41[0-9]+ bytes and the tunnel takes 3956: .* be 41[0-9]+ and not 4000"
check "and the log says what to do" grep -E "$said" "$tmp_dir/roced-GA.log"
verify "RDMA MTU 2048 fits" 30 1 2048 -q 2 -s 65537
stop_hosts
stop_gateways

# ------------------------------------------------------------------ over IPv6, with two workers

GATEWAY_V6=1 GATEWAY_QUEUES=2
GATEWAY_WORKERS='{ lcore = 1; cpus = "0-1"; }, { lcore = 2; cpus = "0-1"; }'
gateways "" "protection = { psk_file = \"$tmp_dir/psk\"; suites = [ \"sm4-gcm\" ];
	peers = ( { network = \"fd99::/64\"; policy = \"required\"; } ); };"
hosts
perftest "two workers, tunnels over IPv6: ib_write_bw" 40 ib_write_bw 1 -D 2 -q 8
verify "two workers, tunnels over IPv6: every byte" 60 1 4096 -q 8 -s 65537
perftest "two workers, tunnels over IPv6: hosts by IPv6" 40 ib_write_bw 2 -n 300
both_work() {
	local n log="$tmp_dir/roced-GA.log"
	counter GA tunnelled >/dev/null
	n=$(grep -E 'worker [01]: node encap +packets [1-9]' "$log" | awk '{print $4}' | sort -u | wc -l)
	grep -E 'node (encap|decap|handoff)' "$log" | tail -6
	[ "$n" -eq 2 ]
}
check "both workers took part" both_work
wholly() {
	echo "missing $(counter GB missing), lost by GA's count $(counter GA lost), late $(counter GB late)"
	[ "$(counter GB missing)" -le "$(counter GA lost)" ] && [ "$(counter GB late)" -eq 0 ]
}
check "nothing was lost" wholly
stop_hosts
stop_gateways
unset GATEWAY_V6 GATEWAY_QUEUES GATEWAY_WORKERS

# ------------------------------------------------------------------ without a bridge

gateways "bridge = false;"
check "without a bridge the kernels do not reach each other" eval '! in_ns A ping -c 2 -i 0.3 -W 1 $K4B'
in_ns A ip neigh replace $K4B lladdr 02:00:00:00:00:99 dev kern
in_ns B ip neigh replace $K4A lladdr 02:00:00:00:00:98 dev kern
in_ns B ping -c 1 -W 1 $K4A >/dev/null
check "but RoCE does" heard
stop_gateways
fabric_stop
finish
