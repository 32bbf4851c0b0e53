#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two gateways, a fabric of four paths between them, and hosts that know nothing of either: daemons, and the kernel.
# What the hosts see is in order and whole, while paths are cut, keys are changed and a gateway is started anew; what
# the fabric sees is tunnels only.
#
# usage: tests/e2e/gateway.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"

need ss ib_write_bw ib_read_bw ib_send_bw rping python3 tshark ping
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_gateways 4400
wire_hosts 4200
kernel_hosts 1500
GATEWAY_HOSTS="host khost"
# a machine that is busy with other things wakes a process late, which is no loss
PATIENT='reorder_us = 300000; silence_us = 300000;'
gateway_fabric "host_mbps = 1000; leaf_mbps = 200; buffer_bytes = 4194304;
	ecn_min_bytes = 50000; ecn_max_bytes = 200000; convergence_us = 100000000;" || finish
psk "$tmp_dir/GA.psk" "$KEY"
psk "$tmp_dir/GB.psk" "$KEY"

# gateways KEYS [SUITE]: both; with a cipher suite they protect what is between them
gateways() {
	local n groups=
	for n in GA GB; do
		[ -z "${2:-}" ] || groups="protection = { psk_file = \"$tmp_dir/$n.psk\"; suites = [ \"$2\" ];
			peers = ( { network = \"10.99.0.0/24\"; policy = \"required\"; },
				{ network = \"fd99::/64\"; policy = \"required\"; } ); };"
		gateway_start "$n" "$PATIENT $1" "$groups" || finish
	done
}

stop_all() {
	local n
	for n in A B GA GB; do roced_stop $n; done
}

# nothing_lost: the gateways dropped nothing, and gave up nothing but what the wire between them lost (a packet socket
# of a busy machine may), which the sender's end must have been told of
nothing_lost() {
	local n name
	for n in GA GB; do
		for name in late not_held unordered bad_reports; do
			[ "$(counter $n "$name")" -eq 0 ] || { echo "$n: $name $(counter $n "$name")"; return 1; }
		done
		! grep -E 'worker [0-9]+: drop [a-z_]+ [0-9]+ \(' "$tmp_dir/roced-$n.log" || return 1
	done
	echo "missing at GB $(counter GB missing), lost by GA's count $(counter GA lost);" \
		"at GA $(counter GA missing), by GB's $(counter GB lost)"
	[ "$(counter GB missing)" -le "$(counter GA lost)" ] && [ "$(counter GA missing)" -le "$(counter GB lost)" ]
}

# seen FILTER: frames of the capture of the fabric's wire
seen() { tshark -r "$tmp_dir/fabric.pcapng" -Y "$1" 2>/dev/null | wc -l; }
watch_fabric() {
	ip netns exec "$(ns F)" timeout 60 tshark -i a -i b -a duration:"$1" -w "$tmp_dir/fabric.pcapng" \
		>"$tmp_dir/tshark.log" 2>&1 &
	tshark_pid=$!
	pids+=("$tshark_pid")
	wait_for 20 grep -q "Capturing on" "$tmp_dir/tshark.log"
}

programs() {
	perftest "$1: ib_write_bw" 60 ib_write_bw $V4 -D 1 -q 4 -t 16
	perftest "$1: ib_read_bw" 60 ib_read_bw $V4 -n 300
	cm_pair "$1: rping" 30 "rping -s -a $B4 -V -C 100 -S 4000" "rping -c -a $B4 -V -C 100 -S 4000"
	verify "$1: every byte" 60 $V4 4096 -q 2 -s 65537
}

# ------------------------------------------------------------------ plain tunnels

gateways ""
hosts
# the first packet of all learns where the hosts are
check "the kernels ping each other through the bridge" in_ns A ping -c 3 -i 0.3 -W 2 $K4B
check "also by IPv6" in_ns A ping -6 -c 3 -i 0.3 -W 2 $K6B
programs "plain"
perftest "plain: ib_send_bw, UD" 60 ib_send_bw $V4 -n 500 -c UD -s 1024
perftest "plain: ib_write_bw, IPv6" 60 ib_write_bw $V6 -n 300
check "plain: order was kept" in_order
check "plain: nothing was lost" nothing_lost
spread() {
	echo "packets of each path: $(fabric_value "*[p['up']['packets'] for p in s['spines']]")"
	[ "$(spines_used 1000)" -eq 4 ]
}
check "plain: all four paths carried packets" spread
check "plain: packets came ahead of their turn and waited" [ "$(counter GB ahead)" -gt 100 ]
stop_all

# ------------------------------------------------------------------ protected

for cipher in sm4-gcm aes-256-gcm; do
	gateways "" $cipher
	hosts
	watch_fabric 6
	programs "$cipher"
	wait "$tshark_pid"
	forget_pid "$tshark_pid"
	only_tunnels() {
		local plain="udp.dstport >= $GATEWAY_PORT && udp.dstport < $((GATEWAY_PORT + 64))"
		echo "RoCE $(seen "udp.dstport == 4791"), plain tunnels $(seen "$plain")," \
			"protected $(seen "udp.dstport == 1000")"
		[ "$(seen "udp.dstport == 4791")" -eq 0 ] && [ "$(seen "udp.dstport == 1000")" -gt 1000 ] &&
			[ "$(seen "$plain")" -eq 0 ]
	}
	check "$cipher: tshark sees neither RoCE nor a plain tunnel" only_tunnels
	check "$cipher: order was kept" in_order
	check "$cipher: nothing was lost" nothing_lost
	[ $cipher = aes-256-gcm ] || stop_all
done

# ------------------------------------------------------------------ what goes wrong while data flow

# during NAME SECONDS COMMAND...: it runs while ib_write_bw does, which has to end well
during() {
	local name=$1 limit=$2 client rc=0
	shift 2
	wanted "$name" || return 0
	spawn_in B $((limit + 20)) "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D "$limit" -q 2 -u 20
	local server=$spawned_pid
	server_settles B ib_write_bw
	spawn_in A $((limit + 20)) "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D "$limit" -q 2 -u 20 $SIDE_B
	client=$spawned_pid
	fabric_ctl reset >/dev/null
	wait_for 10 eval '[ "$(spines_used 100)" -ge 2 ]'
	"$@" >"$tmp_dir/check.log" 2>&1 || rc=1
	wait "$client" || rc=client
	wait "$server" || rc="$rc server"
	forget_pid "$client"
	forget_pid "$server"
	if [ "$rc" = 0 ]; then
		pass "$name"
	else
		fail "$name ($rc)" "$tmp_dir/check.log" "$tmp_dir"/{client,server}.log{,.err}
		show_counters
	fi
}

cuts() {
	local s
	for s in 0 2; do
		fabric_ctl cut spine $s
		sleep 1.5
		fabric_ctl restore spine $s
		sleep 0.5
	done
}
during "paths are cut and come back" 6 cuts
used_again() {
	fabric_ctl reset >/dev/null
	sleep 1
	perftest "after the cuts: ib_write_bw" 30 ib_write_bw $V4 -n 1000
	[ "$(spines_used 50)" -eq 4 ]
}
check "and they are used again" used_again

changes() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		"$build_dir/app/rocectl/rocectl" rekey --socket "$(telemetry_socket GA)" all || return 1
		sleep 0.3
	done
}
during "keys are changed" 4 changes
check "and no packet was refused for it" \
	eval '[ "$(counter GB "drop wrong_tag")" -eq 0 ] && [ "$(counter GB "drop unknown_spi")" -eq 0 ]'

again() {
	roced_stop GB
	sleep 0.3
	roced_launch GB
}
during "a gateway is started anew" 6 again
verify "after it: every byte" 60 $V4 4096 -q 2 -s 65537
during "the other one is, too" 6 eval 'roced_stop GA; roced_launch GA'


stop_all
fabric_stop
finish
