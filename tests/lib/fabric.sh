# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# roce-fabric between the namespaces A and B; a suite sources this file after common.sh.
#
# Topology: in F runs roce-fabric, with four ports a, b, ka and kb: hosts 0 and 2 are the roced of A and of B, hosts 1 and 3 the
# kernel of A and of B (interface kern). Hosts 0 and 1 are at leaf 0, hosts 2 and 3 at leaf 1.

# FABRIC_BIN: another one, built with sanitizers say
fabric_bin=${FABRIC_BIN:-$build_dir/app/roce-fabric/roce-fabric}
fabric_pid=
fabric_ns=F
K4A=10.78.0.1 K4B=10.78.0.2
K6A=fd78::1 K6B=fd78::2

# kernel_addresses: the interface kern of A and of B is a kernel's, and has addresses
kernel_addresses() {
	local n
	for n in A B; do
		ip -n "$(ns "$n")" link set dev kern arp on
		in_ns "$n" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/kern/disable_ipv6'
	done
	ip -n "$(ns A)" addr add $K4A/24 dev kern
	ip -n "$(ns A)" addr add $K6A/64 dev kern nodad
	ip -n "$(ns B)" addr add $K4B/24 dev kern
	ip -n "$(ns B)" addr add $K6B/64 dev kern nodad
}

# wire_fabric MTU
wire_fabric() {
	local n low
	make_ns A B F
	side_channel
	for n in A B; do
		low=${n,}
		veth "$n" port F "$low" "$1"
		veth "$n" kern F "k$low" "$1"
	done
	kernel_addresses
}

# fabric_config FABRIC-KEYS [MORE]: of 2 leaves with 2 hosts each and 4 spines
fabric_config() {
	local name host=0 i=0
	cat <<-END
		eal = { args = [ "--no-huge", "-m", "400" ]; };
		control = { socket = "$tmp_dir/fabric.sock"; };
		fabric = { leaves = 2; spines = 4; hosts_per_leaf = 2; $1 };
		${2:-}
		ports = (
	END
	for name in a ka b kb; do
		[ $i -eq 0 ] || echo ','
		echo "{ name = \"$name\"; host = $host; mtu = 4200; mbufs = 4096;"
		echo "  device = \"net_af_packet$i,iface=$name,blocksz=65536,framesz=8192,framecnt=2048\"; }"
		i=$((i + 1)) host=$((host + 1))
	done
	echo ');'
}

# fabric_start FILE: log $tmp_dir/fabric.log
fabric_start() {
	: >"$tmp_dir/fabric.log"
	ip netns exec "$(ns $fabric_ns)" "$fabric_bin" "$1" >"$tmp_dir/fabric.log" 2>&1 &
	fabric_pid=$!
	pids+=("$fabric_pid")
	if ! wait_for 20 fabric_ready_or_dead || ! kill -0 "$fabric_pid" 2>/dev/null; then
		fail "roce-fabric starts" "$tmp_dir/fabric.log"
		return 1
	fi
}
fabric_ready_or_dead() { grep -q 'roce-fabric: ready' "$tmp_dir/fabric.log" || ! kill -0 "$fabric_pid"; }

# fabric_stop: a clean end on SIGTERM is a verdict of its own
fabric_stop() {
	local rc=0
	[ -n "$fabric_pid" ] || return 0
	kill -TERM "$fabric_pid" 2>/dev/null
	if wait_for 5 fabric_is_gone; then wait "$fabric_pid" || rc=$?; else rc=timeout; end_pid "$fabric_pid"; fi
	forget_pid "$fabric_pid"
	fabric_pid=
	if [ "$rc" = 0 ] && [ ! -e "$tmp_dir/fabric.sock" ] && ! grep -qE 'Sanitizer|runtime error:' "$tmp_dir/fabric.log"; then
		pass "roce-fabric ends cleanly"
	else
		fail "roce-fabric ends cleanly (status $rc)" "$tmp_dir/fabric.log"
	fi
}
fabric_is_gone() { ! kill -0 "$fabric_pid"; }

# fabric_ctl 'COMMAND': prints the answer; fails when it was refused
fabric_ctl() { "$fabric_bin" --control "$tmp_dir/fabric.sock" "$@"; }

# fabric_value PYTHON: an expression over the answer s to `stats`
fabric_value() { fabric_ctl stats | python3 -c "import json, sys; s = json.load(sys.stdin); print($1)"; }

# fabric_is PYTHON: whether it is true
fabric_is() { [ "$(fabric_value "bool($1)")" = True ]; }

# spine_packets S: that have come to this spine
spine_packets() { fabric_value "s['spines'][$1]['up']['packets']"; }

# spines_used N: how many spines have carried at least N packets
spines_used() { fabric_value "sum(p['up']['packets'] >= $1 for p in s['spines'])"; }

# fabric_counters: for who looks at a failure
fabric_counters() { fabric_ctl stats | sed 's/,"spines/\n,"spines/; s/,{/\n  ,{/g; s/^/    /'; }
