#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of port and every way to run the daemon, with traffic over it: what docs/configuration.md
# promises is tried here, a short case each. The data path as such is the matter of veth.sh.
#
# usage: tests/e2e/ports.sh [GROUP...]      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2317,SC2086
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/hugepages.sh"

V4=1 V6=2
rocectl_bin=$build_dir/app/rocectl/rocectl
groups="af_xdp memif ring loopback pcap virtio_user hugepages"
groups="$groups two_workers two_workers_memif two_workers_tap vlan kernel_peer"
groups="$groups daemon_mode second_daemon under_load idle killed link examples"

# The driver of DPDK 22.11 does not free what libxdp gives it, and that is all a leak check finds.
echo leak:xsk_umem__create >"$tmp_dir/leaks"
export LSAN_OPTIONS=suppressions=$tmp_dir/leaks:print_suppressions=0:${LSAN_OPTIONS:-}

need ss tcpdump ping python3 ib_write_bw ibv_rc_pingpong

# ------------------------------------------------------------------ helpers

# The two programs that every port must carry.
programs() { # NAME SERVER_NS CLIENT_NS HOST
	pair "$1: ibv_rc_pingpong" 15 "$2" "ibv_rc_pingpong -d roced0 -g $V4 -n 300 -c" \
		"$3" "ibv_rc_pingpong -d roced0 -g $V4 -n 300 -c $4"
	pair "$1: ib_write_bw" 15 "$2" "ib_write_bw -d roced0 -x $V4 -F -n 300" \
		"$3" "ib_write_bw -d roced0 -x $V4 -F -n 300 $4"
}

both_start() { # DEVICE_A DEVICE_B PATH_MTU PORT_MTU
	roced_start A "$1" "$3" "$4" "$A4/24" "$A6/64" && roced_start B "$2" "$3" "$4" "$B4/24" "$B6/64"
}

both_stop() {
	roced_stop A
	roced_stop B
}

# dump NS: the counters of its daemon, by SIGUSR1, in $tmp_dir/dump-NS
dump() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "${!var}" || return 1
	wait_for 3 dump_done "$log" "$at"
	tail -n "+$at" "$log" >"$tmp_dir/dump-$1"
}
# the last worker's transport comes last
dump_done() { tail -n "+$2" "$1" | grep -q 'transport .*retransmits'; }

# counter NS LINE NAME: sums NAME over the lines of the last dump that match LINE
counter() {
	awk -v line="$2" -v name="$3" '$0 ~ line { for (i = 1; i < NF; i++) if ($i == name) sum += $(i + 1) }
		END { print sum + 0 }' "$tmp_dir/dump-$1"
}

port_is_down() { dump "$1" && grep -q 'port "p0": down' "$tmp_dir/dump-$1"; }
port_is_up() { dump "$1" && grep -q 'port "p0": up' "$tmp_dir/dump-$1"; }
both_up() { port_is_up A && port_is_up B; }

gone() { ! kill -0 "$1" 2>/dev/null; }

# ends_within SECONDS PID: sets end_status
ends_within() {
	end_status=124
	wait_for "$1" gone "$2" || return 1
	wait "$2"
	end_status=$?
	forget_pid "$2"
}

# ------------------------------------------------------------------ kinds of ports

# The kernel attaches XDP to a veth only when the peer's frames fit in a page, so it has a wire of its own.
group_af_xdp() {
	local device="net_af_xdp0,iface=xdp,force_copy=1"
	python3 -c 'import socket; socket.socket(44, socket.SOCK_RAW)' 2>/dev/null ||
		{ skip "af_xdp" "the kernel has no AF_XDP sockets"; return; }
	veth A xdp B xdp 3200
	if ! both_start "$device" "$device" 2048 3200; then return; fi
	programs "af_xdp" B A "$SIDE_B"
	cm_pair "af_xdp: rping IPv6, data checked" 15 "rping -s -a $B6 -V -C 20 -S 4000" \
		"rping -c -a $B6 -V -C 20 -S 4000"
	both_stop
}

memif_device() { # ROLE
	echo "net_memif0,role=$1,id=0,bsize=8192,rsize=10,socket=$tmp_dir/memif.sock,socket-abstract=no"
}

memif_start() { # NS ROLE
	if [ "$1" = A ]; then
		roced_start A "$(memif_device "$2")" 4096 4200 "$A4/24" "$A6/64"
	else
		roced_start B "$(memif_device "$2")" 4096 4200 "$B4/24" "$B6/64"
	fi
}

# The socket is a file, which both namespaces see. Either side may come first, and go and come back.
group_memif() {
	memif_start B client || return
	check "memif: the client is down without a server" port_is_down B
	memif_start A server || return
	check "memif: both ports come up" wait_for 5 both_up
	programs "memif" B A "$SIDE_B"
	roced_stop A
	check "memif: the link goes down with the server" wait_for 5 port_is_down B
	memif_start A server || return
	check "memif: both ports come up when the server is back" wait_for 5 both_up
	programs "memif, after a restart of the server" B A "$SIDE_B"
	roced_stop B
	check "memif: the link goes down with the client" wait_for 5 port_is_down A
	memif_peers_come_and_go "memif" 1
	memif_start B client || return
	check "memif: both ports come up when the client is back" wait_for 5 both_up
	programs "memif, after a restart of the client" B A "$SIDE_B"
	memif_server_killed
	both_stop
	check "memif: its sockets are removed" memif_removed
}
memif_removed() { [ ! -e "$tmp_dir/memif.sock" ] && ! ls -d "$tmp_dir"/*.memif; }

# Peers fill the rings of the server in A and go, in all ways, while its workers copy from them.
memif_peers_come_and_go() { # NAME QUEUES
	local fds
	fds=$(fds_of A)
	check "$1: peers come, send and go, many times" \
		timeout 20 python3 "$repo_dir/tests/e2e/memif_peer.py" -q "$2" -t 5 -n 200 "$tmp_dir/memif.sock"
	alive_check
	check "$1: the port is down when they have gone" wait_for 5 port_is_down A
	check "$1: they leave no descriptors behind" wait_for 5 fds_are A "$fds"
}
fds_of() {
	local var=roced_pid_$1
	find "/proc/${!var}/fd" -mindepth 1 | wc -l
}
fds_are() { [ "$(fds_of "$1")" -eq "$2" ]; }

# The other end under load. The socket's file stays, and the next server replaces it.
memif_server_killed() {
	wanted "memif: a killed server" || return 0
	load_start || { fail "memif: a killed server: traffic flows" "$tmp_dir"/{client,server}.log{,.err}; return; }
	kill_daemon A
	check "memif: a killed server: the link goes down" wait_for 5 port_is_down B
	end_pid "$load_client"
	end_pid "$load_server"
	forget_pid "$load_client"
	forget_pid "$load_server"
	memif_start A server || return
	check "memif: a killed server: both ports come up when it is back" wait_for 5 both_up
	programs "memif, after a killed server" B A "$SIDE_B"
}
kill_daemon() {
	local var=roced_pid_$1
	kill -KILL "${!var}"
	wait "${!var}"
	forget_pid "${!var}"
	eval "$var="
} 2>/dev/null

# What a daemon sends to its own address does not leave it; the announcements pass through the ring.
group_ring() {
	PORT_KEYS="promiscuous = true;" roced_start A net_ring0 4096 4200 "$A4/24" || return
	programs "ring" A A "$SIDE_A"
	check "ring: the port receives what it sends" ring_carried
	roced_stop A
}
ring_carried() {
	dump A
	[ "$(counter A 'port "p0"' rx)" -gt 0 ]
}

group_loopback() {
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || return
	programs "af_packet loopback" A A "$SIDE_A"
	pair "af_packet loopback: rping" 15 A "rping -s -a $A4 -V -C 20 -S 4000" A "rping -c -a $A4 -V -C 20 -S 4000"
	pair "af_packet loopback: ib_read_bw IPv6" 15 A "ib_read_bw -d roced0 -x $V6 -F -n 300" \
		A "ib_read_bw -d roced0 -x $V6 -F -n 300 $SIDE_A"
	roced_stop A
}

# An empty capture to read, as libpcap 2.4 has it: magic, version, zone, accuracy, length, Ethernet.
empty_pcap() { printf '\xd4\xc3\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\x00\x00\x04\x00\x01\x00\x00\x00' >"$1"; }

group_pcap() {
	empty_pcap "$tmp_dir/in.pcap"
	roced_start A "net_pcap0,rx_pcap=$tmp_dir/in.pcap,tx_pcap=$tmp_dir/out.pcap" 4096 4200 "$A4/24" "$A6/64" || return
	roced_stop A
	check "pcap: its announcements are in the capture" pcap_announced
}
pcap_announced() {
	"$rocectl_bin" decode "$tmp_dir/out.pcap" || return 1
	tcpdump -nn -r "$tmp_dir/out.pcap" 2>/dev/null >"$tmp_dir/out.txt"
	grep -q "ARP.*$A4" "$tmp_dir/out.txt" && grep -q "neighbor advertisement.*$A6" "$tmp_dir/out.txt"
}

# A vhost-user back end in another process: testpmd joins the sockets of both daemons.
group_virtio_user() {
	local name="virtio_user: vhost-user back end"
	command -v dpdk-testpmd >/dev/null || { skip "$name" "dpdk-testpmd is not installed, see tools/deps"; return; }
	backend_start || { fail "$name starts" "$tmp_dir/testpmd.log"; return; }
	if both_start "net_virtio_user0,path=$tmp_dir/vhost-a,queues=1" "net_virtio_user0,path=$tmp_dir/vhost-b,queues=1" \
		4096 4200; then
		programs "virtio_user" B A "$SIDE_B"
		both_stop
	fi
	backend_stop
}

# testpmd forwards until its input ends
backend_start() {
	local vdevs="--vdev net_vhost0,iface=$tmp_dir/vhost-a,queues=1 --vdev net_vhost1,iface=$tmp_dir/vhost-b,queues=1"
	mkfifo "$tmp_dir/testpmd.in"
	# shellcheck disable=SC2086
	dpdk-testpmd --lcores '0@(0-1),1@(0-1)' --no-huge -m 256 --no-pci --no-telemetry --no-shconf $vdevs -- \
		--no-mlockall --total-num-mbufs=8192 --mbuf-size=8192 --forward-mode=io --auto-start \
		<"$tmp_dir/testpmd.in" >"$tmp_dir/testpmd.log" 2>&1 &
	backend_pid=$!
	pids+=("$backend_pid")
	exec 9>"$tmp_dir/testpmd.in"
	wait_for 10 test -S "$tmp_dir/vhost-b"
}

# Its own way to end takes seconds, and nothing of it is to be looked at.
backend_stop() {
	exec 9>&-
	kill -KILL "$backend_pid"
	wait "$backend_pid"
	forget_pid "$backend_pid"
} 2>/dev/null

# ------------------------------------------------------------------ hugepages, workers, VLAN

group_hugepages() {
	local name="hugepages" device args
	device=$(af_packet_device port)
	if ! pages_take 400 || ! pages_mount; then
		skip "$name" "the kernel gives no 400 pages of 2 MB"
		pages_restore
		return
	fi
	EAL_ARGS='"-m", "256"' roced_start A "$device" 4096 4200 "$A4/24" "$A6/64"
	# the mount and a prefix of its own: files in hugetlbfs instead of memory without names
	args="\"-m\", \"256\", \"--huge-dir\", \"$tmp_dir/huge\", \"--file-prefix\", \"$ns_prefix\", \"--huge-unlink\""
	EAL_ARGS=$args roced_start B "$device" 4096 4200 "$B4/24" "$B6/64"
	check "$name: the daemons' memory is in them" pages_used
	programs "$name" B A "$SIDE_B"
	both_stop
	pages_restore
	rm -rf "/var/run/dpdk/$ns_prefix"
}
pages_used() {
	grep -H Hugetlb "/proc/${roced_pid_A:?}/smaps_rollup" "/proc/${roced_pid_B:?}/smaps_rollup"
	hugetlb_kb "$roced_pid_A" && hugetlb_kb "$roced_pid_B"
}
hugetlb_kb() { awk '/Hugetlb/ { sum += $2 } END { exit sum < 65536 }' "/proc/$1/smaps_rollup"; }

two_workers='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; } ); },
	{ lcore = 2; cpus = "0-1"; rx = ( { port = "p0"; queue = 1; } ); }'

# Which queue a packet comes to is not for roced to say, so about half of them come to the wrong worker.
group_two_workers() {
	local device
	device=$(af_packet_device port)
	if ! WORKERS=$two_workers both_start "${device/qpairs=1/qpairs=2}" \
		"${device/qpairs=1/qpairs=2}" 4096 4200; then return; fi
	four_pairs "af_packet, two workers"
	programs "af_packet, two workers" B A "$SIDE_B"
	check "af_packet, two workers: both carry queue pairs" both_workers_used
	check "af_packet, two workers: packets cross between them" packets_cross
	both_stop
}

# memif has a receive queue for each transmit queue of the peer, hence for each of its workers.
group_two_workers_memif() {
	if ! WORKERS=$two_workers both_start "$(memif_device server)" "$(memif_device client)" 4096 4200; then return; fi
	check "memif, two workers: both ports come up" wait_for 5 both_up
	four_pairs "memif, two workers"
	check "memif, two workers: both carry queue pairs" both_workers_used
	roced_stop B
	memif_peers_come_and_go "memif, two workers" 2
	roced_stop A
}

# The kernel answers a flow on the tap queue that it came from, so packets need not cross. A bridge joins
# the tap with the wire.
group_two_workers_tap() {
	local n
	for n in A B; do
		ip -n "$(ns $n)" link add name joint mtu 1500 type bridge mcast_snooping 0
		quiet_if $n joint 1500
		ip -n "$(ns $n)" link set dev port master joint
	done
	if WORKERS=$two_workers both_start net_tap0,iface=dtap0 net_tap0,iface=dtap0 1024 1500; then
		for n in A B; do ip -n "$(ns $n)" link set dev dtap0 master joint up; done
		four_pairs "tap, two workers"
		programs "tap, two workers" B A "$SIDE_B"
		check "tap, two workers: both carry queue pairs" both_workers_used
		both_stop
	fi
	for n in A B; do ip -n "$(ns $n)" link del dev joint; done
}

# Several processes at once, each pair with a TCP port of its own. Eight programs that poll crowd a small
# machine, so timeouts are long (-u 17: half a second).
four_pairs() { # NAME
	local p rc=0 clients=() servers=()
	wanted "$1: 4 pairs of ib_write_bw with 4 QPs at once" || return 0
	for p in 18601 18602 18603 18604; do
		spawn_in B 25 "$tmp_dir/server-$p.log" ib_write_bw -d roced0 -x $V4 -F -q 4 -n 100 -u 17 -p $p
		servers+=("$spawned_pid")
	done
	for p in 18601 18602 18603 18604; do wait_for 5 tcp_listens B $p; done
	for p in 18601 18602 18603 18604; do
		spawn_in A 25 "$tmp_dir/client-$p.log" ib_write_bw -d roced0 -x $V4 -F -q 4 -n 100 -u 17 -p $p "$SIDE_B"
		clients+=("$spawned_pid")
	done
	for p in "${clients[@]}" "${servers[@]}"; do
		wait "$p" || rc=$?
		forget_pid "$p"
	done
	if [ $rc -eq 0 ]; then
		pass "$1: 4 pairs of ib_write_bw with 4 QPs at once"
	else
		fail "$1: 4 pairs of ib_write_bw with 4 QPs at once (status $rc)" "$tmp_dir"/{server,client}-1860?.log.err
	fi
}

both_workers_used() {
	local n
	for n in A B; do
		dump $n
		grep -E 'transport|ring_in' "$tmp_dir/dump-$n"
		[ "$(counter $n '^.*transport 0: rx_pkts' rx_pkts)" -gt 0 ] || return 1
		[ "$(counter $n '^.*transport 1: rx_pkts' rx_pkts)" -gt 0 ] || return 1
	done
}
packets_cross() {
	local n out=0
	for n in A B; do
		grep ring_out "$tmp_dir/dump-$n"
		out=$((out + $(counter "$n" 'worker .*ring_out' ring_out)))
		[ "$(counter "$n" 'worker .*drop ring_full' ring_full)" -eq 0 ] || return 1
	done
	[ $out -gt 0 ]
}

group_vlan() {
	local device sniffer
	device=$(af_packet_device port)
	if ! DEVICE_KEYS="vlan = 42; priority = 5;" both_start "$device" "$device" 4096 4200; then return; fi
	in_ns B tcpdump -Z root -U -s 200 -i port -w "$tmp_dir/vlan.pcap" 2>"$tmp_dir/tcpdump.log" &
	sniffer=$!
	pids+=("$sniffer")
	wait_for 5 grep -q 'listening on' "$tmp_dir/tcpdump.log"
	programs "vlan" B A "$SIDE_B"
	pair "vlan: ibv_rc_pingpong IPv6" 15 B "ibv_rc_pingpong -d roced0 -g $V6 -n 100 -c" \
		A "ibv_rc_pingpong -d roced0 -g $V6 -n 100 -c $SIDE_B"
	cm_pair "vlan: rping" 15 "rping -s -a $B4 -V -C 20 -S 4000" "rping -c -a $B4 -V -C 20 -S 4000"
	sleep 0.5
	end_pid "$sniffer"
	forget_pid "$sniffer"
	both_stop
	check "vlan: all RoCE frames carry the tag and the priority, IPv4 and IPv6" vlan_seen
}
frames() { tcpdump -nn -r "$tmp_dir/vlan.pcap" "$1" 2>/dev/null | wc -l; }
vlan_seen() {
	local all tagged v4 v6
	all=$(frames "not vlan")
	tagged=$(tcpdump -e -nn -r "$tmp_dir/vlan.pcap" 2>/dev/null | grep -c "vlan 42, p 5, .*\.4791:")
	v4=$(frames "vlan 42 and ip and udp port 4791")
	v6=$(frames "vlan 42 and ip6 and udp port 4791")
	echo "untagged $all, with tag and priority $tagged, IPv4 $v4, IPv6 $v6"
	[ "$all" -eq 0 ] && [ "$v4" -gt 0 ] && [ "$v6" -gt 0 ] && [ "$tagged" -eq $((v4 + v6)) ]
}

# ------------------------------------------------------------------ a kernel as the peer

group_kernel_peer() {
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || return
	in_ns B sh -c 'echo 0 >/proc/sys/net/ipv6/conf/port/disable_ipv6'
	ip -n "$(ns B)" link set dev port arp on
	ip -n "$(ns B)" addr add "$B4/24" dev port
	ip -n "$(ns B)" addr add "$B6/64" dev port nodad
	check "kernel peer: ping" in_ns B ping -c 3 -i 0.2 -W 2 "$A4"
	check "kernel peer: ping, 1400 bytes" in_ns B ping -c 3 -i 0.2 -W 2 -s 1400 "$A4"
	check "kernel peer: ping, 4000 bytes in one packet" in_ns B ping -c 3 -i 0.2 -W 2 -s 4000 -M 'do' "$A4"
	check "kernel peer: ping -6" in_ns B ping -6 -c 3 -i 0.2 -W 2 "$A6"
	check "kernel peer: ping -6, 1400 bytes" in_ns B ping -6 -c 3 -i 0.2 -W 2 -s 1400 "$A6"
	check "kernel peer: ping -6 of all nodes" in_ns B ping -6 -c 2 -i 0.2 -W 2 ff02::1%port
	check "kernel peer: it learned both link addresses" peer_learned
	dump A
	check "kernel peer: echo, ARP and ND are counted" peer_counted
	roced_stop A
	ip -n "$(ns B)" addr flush dev port
	quiet_if B port 4200
}
peer_learned() {
	ip -n "$(ns B)" neigh show dev port | tee "$tmp_dir/neigh"
	grep -q "^$A4 lladdr" "$tmp_dir/neigh" && grep -q "^$A6 lladdr" "$tmp_dir/neigh"
}
peer_counted() {
	grep main: "$tmp_dir/dump-A"
	[ "$(counter A main: echo_replies)" -ge 15 ] && [ "$(counter A main: arp_replies)" -gt 0 ] &&
		[ "$(counter A main: nd_replies)" -gt 0 ]
}

# ------------------------------------------------------------------ ways to run, ways to end

# pid_of CONF: of the daemon that runs with this file
pid_of() {
	local p
	for p in /proc/[0-9]*; do
		tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -q -- "roced -c $1 " && echo "${p#/proc/}"
	done
}

# Runs the daemon with its own file and -d in A; output in $tmp_dir/start.log
background() {
	(cd "$tmp_dir" && timeout 20 ip netns exec "$(ns A)" "$roced_bin" -c "$1" -d) >"$tmp_dir/start.log" 2>&1
}

group_daemon_mode() {
	local conf="$tmp_dir/roced-A.conf" device pid
	device=$(af_packet_device port)
	roced_config roced-A "$device" 4096 4200 "$A4/24" >"$conf"
	check "daemon mode: the command returns 0" background "$conf"
	pid=$(pid_of "$conf")
	[[ $pid =~ ^[0-9]+$ ]] || { fail "daemon mode: one daemon stays (pid '$pid')" "$tmp_dir/start.log"; return; }
	pids+=("$pid")
	check "daemon mode: it serves as soon as the command returns" devices_listed
	check "daemon mode: it is a session of its own, without terminal" own_session "$pid"
	check "second daemon on the same socket: refused with the reason" refused "$conf" -f
	check "second daemon on the same socket, -d: refused with the reason" refused "$conf" -d
	check "second daemon on the same socket: the first one still serves" devices_listed
	kill -TERM "$pid"
	check "daemon mode: SIGTERM ends it" wait_for 5 gone "$pid"
	forget_pid "$pid"
	check "daemon mode: its socket is removed" test ! -e "$tmp_dir/roced-A.sock"
	roced_config roced-A "${device/iface=port/iface=nowhere}" 4096 4200 "$A4/24" >"$conf"
	check "daemon mode: a failed start returns 1 with the message" start_fails "$conf"
	relative_socket "$conf" "$device"
}
devices_listed() { run_in A timeout 10 ibv_devices | grep -w roced0; }
own_session() { [ "$(awk '{ print $6, $7 }' "/proc/$1/stat")" = "$1 0" ]; }
refused() {
	timeout 20 ip netns exec "$(ns A)" "$roced_bin" -c "$1" "$2" >"$tmp_dir/second.log" 2>&1
	local rc=$?
	cat "$tmp_dir/second.log"
	[ $rc -eq 1 ] && grep -q "another roced serves it" "$tmp_dir/second.log"
}
start_fails() {
	background "$1"
	local rc=$?
	cat "$tmp_dir/start.log"
	[ $rc -eq 1 ] && grep -q 'no network interface "nowhere"' "$tmp_dir/start.log" && [ -z "$(pid_of "$1")" ]
}

# In the background too, a path is relative to where the daemon was started.
relative_socket() { # CONF DEVICE
	local pid
	roced_config roced-A "$2" 4096 4200 "$A4/24" | sed "s,socket = \"$tmp_dir/,socket = \"," >"$1"
	check "daemon mode: starts with a relative socket path" background "$1"
	pid=$(pid_of "$1")
	[ -n "$pid" ] || return 0
	pids+=("$pid")
	check "daemon mode: serves on a relative socket path" devices_listed
	kill -TERM "$pid"
	wait_for 5 gone "$pid"
	forget_pid "$pid"
	check "daemon mode: a socket with a relative path is removed" test ! -e "$tmp_dir/roced-A.sock"
}

# load_start: ib_write_bw both ways for longer than the case takes; sets load_server (B) and load_client (A)
load_start() {
	local qps
	dump A
	qps=$(counter A 'verbs: sessions' qps)
	spawn_in B 40 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -b -D 30
	load_server=$spawned_pid
	wait_for 5 tcp_listens B 18515
	spawn_in A 40 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -b -D 30 "$SIDE_B"
	load_client=$spawned_pid
	wait_for 5 load_flows "$qps"
	sleep 1
}
load_flows() {
	dump A && dump B && [ "$(counter A 'verbs: sessions' qps)" -gt "$1" ] &&
		[ "$(counter B 'transport .*rx_pkts' rx_pkts)" -gt 1000 ]
}

# An end that has lost the other must say so and end, and not by the time limit (124 and 137).
load_ends() { # NAME PID
	ends_within 20 "$2"
	case $end_status in
	0 | 124 | 137) fail "$1 (status $end_status)" "$tmp_dir"/{client,server}.log{,.err} ;;
	*) pass "$1" ;;
	esac
}

# waiting_start: pairs that sleep in the kernel for events, of the CM and of completions; sets waiting
waiting_start() {
	local verify="$verify_bin -d roced0 -x $V4 -q 1 -s 65537 -n 100000 -t 60 -e"
	spawn_in B 40 "$tmp_dir/server-cm.log" rping -s -a "$B4" -V -C 10000000 -S 4000
	waiting=("$spawned_pid")
	# shellcheck disable=SC2086
	spawn_in B 40 "$tmp_dir/server-events.log" $verify
	waiting+=("$spawned_pid")
	wait_for 5 tcp_listens B 18900
	spawn_in A 40 "$tmp_dir/client-cm.log" rping -c -a "$B4" -V -C 10000000 -S 4000
	waiting+=("$spawned_pid")
	# shellcheck disable=SC2086
	spawn_in A 40 "$tmp_dir/client-events.log" $verify "$SIDE_B"
	waiting+=("$spawned_pid")
	sleep 1
}

group_under_load() {
	local device
	device=$(af_packet_device port)
	if ! both_start "$device" "$device" 4096 4200; then return; fi
	waiting_start
	load_start || { fail "SIGTERM under load: traffic flows" "$tmp_dir"/{client,server}.log{,.err}; both_stop; return; }
	roced_stop A
	load_ends "SIGTERM under load: the daemon's client ends with an error" "$load_client"
	load_ends "SIGTERM under load: the peer's client ends with an error" "$load_server"
	load_ends "SIGTERM under load: the daemon's client ends, waiting for completions" "${waiting[3]}"
	# its peer may have nothing on the way just then, and an RC receiver learns of no lost peer
	end_pid "${waiting[1]}"
	forget_pid "${waiting[1]}"
	load_ends "SIGTERM under load: the daemon's client ends, connected by the CM" "${waiting[2]}"
	# a disconnect is no error to rping's server
	check "SIGTERM under load: the peer's client ends, connected by the CM" wait_for 20 gone "${waiting[0]}"
	check "SIGTERM under load: the socket is removed" test ! -e "$tmp_dir/roced-A.sock"
	roced_start A "$device" 4096 4200 "$A4/24" "$A6/64" && programs "restarted on the same socket" B A "$SIDE_B"
	both_stop
}

# What the first daemon stands on must not suffer from one that is refused.
group_second_daemon() {
	roced_start A net_tap0,iface=dtap0 1024 1500 "$A4/24" || return
	check "second daemon on the same tap and socket: refused with the reason" refused "$tmp_dir/roced-A.conf" -f
	check "second daemon on the same tap and socket: the interface stays up" tap_is_up
	roced_stop A
}
tap_is_up() { ip -n "$(ns A)" link show dev dtap0 | grep -w UP; }

objects() { # NS: what clients hold in its daemon
	dump "$1"
	sed -n 's/.*verbs: \(sessions.* cm_ids [0-9]*\) .*/\1/p' "$tmp_dir/dump-$1"
}
objects_are() { [ "$(objects "$1")" = "$2" ]; }

group_killed() {
	local device before_a before_b
	device=$(af_packet_device port)
	if ! both_start "$device" "$device" 4096 4200; then return; fi
	before_a=$(objects A) before_b=$(objects B)
	load_start || { fail "SIGKILL of a client: traffic flows" "$tmp_dir"/{client,server}.log{,.err}; both_stop; return; }
	[ "$(objects A)" != "$before_a" ] || fail "SIGKILL of a client: its objects are counted"
	kill_program "$load_client"
	load_ends "SIGKILL of a client: its peer ends with an error" "$load_server"
	check "SIGKILL of a client: its daemon holds nothing any more" wait_for 5 objects_are A "$before_a"
	check "SIGKILL of a client: the peer's daemon holds nothing any more" wait_for 5 objects_are B "$before_b"
	killed_cm
	check "SIGKILL of a connected rping: nothing is left in A" wait_for 10 objects_are A "$before_a"
	check "SIGKILL of a connected rping: nothing is left in B" wait_for 10 objects_are B "$before_b"
	programs "after the kills" B A "$SIDE_B"
	both_stop
}
# The program, not timeout(1) around it; without the shell's notice that a job was killed.
kill_program() {
	kill -KILL "$(child_of "$1")"
	ends_within 5 "$1"
} 2>/dev/null
child_of() { cut -d ' ' -f 1 "/proc/$1/task/$1/children"; }

# A killed client cannot disconnect, so its daemon does it for it.
killed_cm() {
	local server
	spawn_in B 30 "$tmp_dir/server.log" rping -s -a "$B4" -V -C 100000 -S 4000
	server=$spawned_pid
	server_settles B rping
	spawn_in A 30 "$tmp_dir/client.log" rping -c -a "$B4" -V -C 100000 -S 4000
	sleep 1
	dump A
	[ "$(counter A 'verbs: sessions' cm_ids)" -gt 0 ] ||
		fail "SIGKILL of rping: it is connected" "$tmp_dir"/client.log{,.err}
	kill_program "$spawned_pid"
	ends_within 10 "$server"
	if [ "$end_status" -ne 124 ]; then
		pass "SIGKILL of a connected rping: its peer learns of it"
	else
		fail "SIGKILL of a connected rping: its peer learns of it" "$tmp_dir"/server.log{,.err}
		end_pid "$server"
	fi
}

# Pulling the cable: programs see the port go down and come back, and traffic flows again.
group_link() {
	local device
	device=$(af_packet_device port)
	if ! both_start "$device" "$device" 4096 4200; then return; fi
	ip -n "$(ns B)" link set dev port down
	check "link: the peer's end down, the port is down" wait_for 5 port_is_down A
	check "link: programs see the port down" state_is A PORT_DOWN
	ip -n "$(ns B)" link set dev port up
	check "link: up again, both ports are up" wait_for 5 both_up
	check "link: programs see the port active" state_is A PORT_ACTIVE
	programs "link: up again" B A "$SIDE_B"
	ip -n "$(ns A)" link set dev port down
	check "link: the own end down, the port is down" wait_for 5 port_is_down A
	ip -n "$(ns A)" link set dev port up
	check "link: the own end up again, both ports are up" wait_for 5 both_up
	programs "link: the own end up again" B A "$SIDE_B"
	both_stop
}
state_is() { run_in "$1" timeout 10 ibv_devinfo | grep "state:.*$2"; }

# ticks PID: CPU time so far, in clock ticks (10 ms)
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

group_idle() {
	local from to percent
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" || return
	sleep 0.5
	from=$(ticks "$roced_pid_A")
	sleep 3
	to=$(ticks "$roced_pid_A")
	percent=$(((to - from) * 100 / (3 * $(getconf CLK_TCK))))
	if [ $percent -lt 50 ]; then
		pass "idle: the daemon uses $percent % of a core"
	else
		fail "idle: the daemon uses $percent % of a core"
	fi
	roced_stop A
}

# ------------------------------------------------------------------ config/

# Every example starts on a machine that has what its comment asks for.
group_examples() {
	local file name
	veth A eth1 B eth1 3200
	veth A roce-a A roce-b 4200
	for file in "$repo_dir"/config/*.conf; do
		name=$(basename "$file")
		case $name in
		pci.conf) skip "example $name" "needs a NIC that DPDK can have" ;;
		virtio_user.conf)
			if [ -c /dev/vhost-net ]; then example "$file"; else
				skip "example $name" "there is no /dev/vhost-net"
			fi ;;
		*) example "$file" ;;
		esac
	done
}

# Sockets and captures go where the test cleans up.
example() { # FILE
	local name conf="$tmp_dir/roced-A.conf" control="control = { socket = \"$tmp_dir/roced-A.sock\"; };"
	name=$(basename "$1")
	wanted "example $name" || return 0
	empty_pcap "$tmp_dir/in.pcap"
	sed "s,/run/roced/,$tmp_dir/,; s,=\(in\|out\)\.pcap,=$tmp_dir/\1.pcap,g; s,^control = .*,$control," "$1" >"$conf"
	grep -q "^control" "$conf" || echo "$control" >>"$conf"
	roced_launch A || return
	check "example $name" devices_listed
	roced_stop A
}

# ------------------------------------------------------------------ main

run_groups() {
	local g
	wire_direct 4200
	for g in "$@"; do
		declare -F "group_$g" >/dev/null || { fail "there is a group $g; there are: $groups"; continue; }
		"group_$g"
	done
}

# shellcheck disable=SC2086
if [ $# -gt 0 ]; then run_groups "$@"; else run_groups $groups; fi
finish
