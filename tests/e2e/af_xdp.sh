#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One interface for RoCE and the kernel: the XDP program gives RoCE to the daemons and leaves ping and TCP to the kernel, at the
# same time and on the same addresses; nothing of it stays when a daemon is killed (docs/af_xdp.md).
#
# usage: tests/e2e/af_xdp.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/../lib/common.sh"

V4=1
device="net_af_xdp0,iface=xdp,force_copy=1"
rocectl_bin=$build_dir/app/rocectl/rocectl
CONTROL_KEYS="telemetry = true;"
# The driver of DPDK 22.11 does not free what libbpf and libxdp give it, and that is all a leak check finds.
printf 'leak:%s\n' xsk_umem__create bpf_object__open_file bpf_object__load >"$tmp_dir/leaks"
export LSAN_OPTIONS=suppressions=$tmp_dir/leaks:print_suppressions=0:${LSAN_OPTIONS:-}

need ss ping python3 ib_write_bw ibv_rc_pingpong rping
python3 -c 'import socket; socket.socket(44, socket.SOCK_RAW)' 2>/dev/null || skip_all "the kernel has no AF_XDP sockets"
[ -e "$build_dir/drivers/bpf/xdp_roce.bpf.o" ] || skip_all "built without an XDP program, see tools/deps"

# ------------------------------------------------------------------ helpers

# The kernel's own addresses on the interface that roced works on. XDP on a veth wants frames that fit in a page.
kernel_has() { # NS ADDRESS...
	local where=$1 a
	shift
	in_ns "$where" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/xdp/disable_ipv6'
	ip -n "$(ns "$where")" link set dev xdp arp on
	ip -n "$(ns "$where")" addr flush dev xdp scope global
	for a in "$@"; do
		case $a in
		*:*) ip -n "$(ns "$where")" addr add "$a" dev xdp nodad ;;
		*) ip -n "$(ns "$where")" addr add "$a" dev xdp ;;
		esac
	done
}

both_start() {
	roced_start A "$device" "${1:-2048}" 3200 "$A4/24" "$A6/64" && roced_start B "$device" "${1:-2048}" 3200 "$B4/24" "$B6/64"
}
both_stop() {
	roced_stop A
	roced_stop B
}

telemetry_socket() { in_ns "$1" ss -Hxl | grep -o '[^ ]*dpdk_telemetry\.v2[^ ]*' | head -n 1; }
shown() { "$rocectl_bin" xdp --socket "$(telemetry_socket "$1")"; }

# frames NS KIND: that its program has counted
frames() { shown "$1" | awk -v kind="$2" '$1 == kind { print $2 }'; }
some() { [ "$(frames "$1" "$2")" -gt 0 ] || { shown "$1"; false; }; }
none() { [ "$(frames "$1" "$2")" -eq 0 ] || { shown "$1"; false; }; }

pings() { in_ns A ping -q -c 5 -i 0.2 -W 2 "$@"; }
no_ping() { ! in_ns A ping -q -c 2 -i 0.2 -W 1 "$1"; }

# 8 MB by TCP from A to an address of B, and back as its checksum
tcp() { # ADDRESS
	cat >"$tmp_dir/tcp.py" <<-'END'
		import hashlib, socket, sys
		data = bytes(range(251)) * 33420
		if sys.argv[1] == "serve":
		    s = socket.create_server((sys.argv[2], 5201))
		    s.settimeout(40)
		    c = s.accept()[0]
		    h = hashlib.sha256()
		    while (piece := c.recv(65536)):
		        h.update(piece)
		    c.sendall(h.digest())
		else:
		    c = socket.create_connection((sys.argv[2], 5201), 10)
		    c.settimeout(40)
		    c.sendall(data)
		    c.shutdown(socket.SHUT_WR)
		    assert c.recv(32) == hashlib.sha256(data).digest()
	END
	ip netns exec "$(ns B)" timeout 50 python3 "$tmp_dir/tcp.py" serve "$1" &
	local server=$!
	pids+=("$server")
	wait_for 10 tcp_listens B 5201 || return 1
	in_ns A timeout 50 python3 "$tmp_dir/tcp.py" send "$1" || return 1
	wait "$server" && forget_pid "$server"
}

# attached NS: the interface has an XDP program
attached() { ip -n "$(ns "$1")" -d link show dev xdp | grep -q 'prog/xdp'; }
not_attached() { ! attached "$1"; }

rdma() { # NAME HOST
	pair "$1: ibv_rc_pingpong" 40 B "ibv_rc_pingpong -d roced0 -g $V4 -n 300 -c" A "ibv_rc_pingpong -d roced0 -g $V4 -n 300 -c $2"
	pair "$1: ib_write_bw" 40 B "ib_write_bw -d roced0 -x $V4 -F -n 300" A "ib_write_bw -d roced0 -x $V4 -F -n 300 $2"
	cm_pair "$1: rping, IPv6" 40 "rping -s -a $B6 -V -C 20 -S 4000" "rping -c -a $B6 -V -C 20 -S 4000"
}

# What the kernel does while ib_write_bw runs over the same interface.
at_once() {
	local client server before
	spawn_in B 60 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 15
	server=$spawned_pid
	wait_for 10 tcp_listens B 18515
	spawn_in A 60 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 15 "$B4"
	client=$spawned_pid
	sleep 2
	before=$(frames B roce_v2)
	check "at once: ping, IPv4" pings "$B4"
	check "at once: ping, IPv6" pings "$B6"
	check "at once: TCP" tcp "$B4"
	check "at once: RoCE came meanwhile" [ "$(frames B roce_v2)" -gt $((before + 1000)) ]
	wait "$client"
	local rc=$?
	wait "$server"
	verdict "at once: ib_write_bw" $? $rc
	forget_pid "$client"
	forget_pid "$server"
}

killed() {
	kill -KILL "$roced_pid_B"
	wait "$roced_pid_B"
	forget_pid "$roced_pid_B"
	roced_pid_B=
} 2>/dev/null

# ------------------------------------------------------------------ cases

make_ns A B
veth A xdp B xdp 3200
side_channel

case_shared() {
	kernel_has A "$A4/24" "$A6/64"
	kernel_has B "$B4/24" "$B6/64"
	if ! both_start; then return; fi
	check "shared: ping, IPv4" pings "$B4"
	check "shared: ping, IPv6" pings "$B6"
	check "shared: TCP" tcp "$B4"
	rdma "shared" "$B4"
	at_once
	check "shared: fragments are the kernel's" pings -s 8000 "$B4"
	check "rocectl xdp: RoCE came to roced" some B roce_v2
	check "rocectl xdp: TCP and ping went to the kernel" some B other
	check "rocectl xdp: ARP and neighbour discovery were copied" some B neighbour
	check "rocectl xdp: fragments" some B fragment
	check "rocectl xdp: nothing malformed" none B malformed
	check "rocectl xdp: each queue has its socket" none B no_socket
	check "SIGUSR1 tells the same" wait_for 5 dump_tells
}
dump_tells() {
	kill -USR1 "$roced_pid_B"
	sleep 0.3
	grep -q 'port "p0": xdp roce: roce_v2 [1-9]' "$tmp_dir/roced-B.log"
}

# Started again on top of what a killed daemon left.
case_killed() {
	check "killed: the program is there before" attached B
	killed
	check "killed: the kernel has detached the program" wait_for 10 not_attached B
	check "killed: ping goes on" pings "$B4"
	roced_start B "$device" 2048 3200 "$B4/24" "$B6/64" || return
	rdma "killed and restarted" "$B4"
	both_stop
	check "ended: no program stays" not_attached A
	# killed while it started, before it had the program as its own
	ip -n "$(ns B)" link set dev xdp xdp obj "$build_dir/drivers/bpf/xdp_roce.bpf.o" sec xdp || fail "left: a program is attached"
	check "left: the program is there before" attached B
	if ! both_start; then return; fi
	rdma "left and restarted" "$B4"
}

# The first daemon and the kernel go on.
case_second() {
	mkdir -p "$tmp_dir/second"
	sed "s,$tmp_dir/roced-B.sock,$tmp_dir/second/roced.sock," "$tmp_dir/roced-B.conf" >"$tmp_dir/second.conf"
	check "second daemon on the interface: refused with the reason" second_is_refused
	check "second daemon on the interface: the first one's program stays" attached B
	check "second daemon on the interface: ping goes on" pings "$B4"
	both_stop
}
second_is_refused() {
	! in_ns B timeout 30 "$roced_bin" -c "$tmp_dir/second.conf" -f >"$tmp_dir/second.log" 2>&1 &&
		cat "$tmp_dir/second.log" && grep -q 'the XDP program "roced_xdp" of a process that lives' "$tmp_dir/second.log"
}

# roced's addresses are nobody else's: it finds its neighbours by the copies alone.
case_apart() {
	kernel_has A 10.78.0.1/24 fd78::1/64
	kernel_has B 10.78.0.2/24 fd78::2/64
	if ! both_start; then return; fi
	rdma "apart" "$SIDE_B"
	check "apart: ping of the kernel's addresses" pings 10.78.0.2
	check "apart: TCP" tcp 10.78.0.2
	both_stop
	DEVICE_KEYS="vlan = 7;" both_start || return
	rdma "apart, VLAN 7" "$SIDE_B"
	both_stop
}

case_protected() {
	local n
	for n in A B; do
		(umask 077 && echo 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff >"$tmp_dir/$n.psk")
	done
	MORE="protection = { psk_file = \"$tmp_dir/A.psk\"; peers = ( { network = \"10.77.0.0/24\"; policy = \"required\"; } ); };" \
		both_start || return
	perftest "protected: ib_write_bw" 60 ib_write_bw $V4 -n 300
	check "protected: protected packets came to roced" some B protected
	check "protected: those of keys too" some B keys
	check "protected: nothing plain did" none B roce_v2
	both_stop
}

# As it was without a program: the kernel hears nothing.
case_all() {
	PORT_KEYS="xdp = \"all\";" both_start || return
	rdma "all" "$SIDE_B"
	check "all: the kernel is not reached" no_ping 10.78.0.2
	check "all: other frames came to roced" some B roce_v2
	both_stop
	check "all: the kernel is reached again" pings 10.78.0.2
}

case_shared
case_killed
case_second
case_apart
case_protected
case_all
finish
