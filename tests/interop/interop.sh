#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# roced against Linux Soft-RoCE (rdma_rxe) in a small virtual machine, both as server and as client.
#
# The guest's first NIC is a tap on which roced has its port: RoCE, ARP, neighbour discovery and echo
# go there. The second NIC joins the guest's kernel with the host's, for the TCP side channel.
#
# usage: tests/interop/interop.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2 # the same GID indices on both sides: link-local, IPv4, IPv6

need ss ib_write_bw rping qemu-system-x86_64 busybox cpio depmod
guest build >"$tmp_dir/guest.log" 2>&1 || skip_all "no guest image: $(tail -n 1 "$tmp_dir/guest.log")"

make_ns A
for tap in roce side; do ip -n "$(ns A)" tuntap add "$tap" mode tap; done
guest_start peer --netns "$(ns A)" --nic "tap=roce,mtu=4200,addr=$B4/24+$B6/64" \
	--nic "tap=side,mtu=1500,addr=$SIDE_B/24" --file "$verify_bin" ||
	{ fail "the guest boots" "$tmp_dir/guest.log" "$tmp_dir/peer.console"; finish; }
ip -n "$(ns A)" link set dev side arp on
ip -n "$(ns A)" addr add "$SIDE_A/24" dev side
in_ns A sh -c 'echo 0 >/proc/sys/net/ipv6/conf/side/disable_ipv6'
ip -n "$(ns A)" addr add fd88::1/64 dev side nodad # getaddrinfo() needs one for IPv6
roced_start A "$(af_packet_device roce)" 4096 4200 "$A4/24" "$A6/64" || finish

in_guest() { guest exec --timeout "$1" peer "${@:2}"; }
guest_listens() { in_guest 5 "netstat -ltn | grep -q ':$1 '"; }
guest_cm_listens() { in_guest 5 "rdma resource show cm_id | grep -q LISTEN"; }

# guest_serves NAME SECONDS 'SERVER' 'CLIENT': the server in the guest, the client on roced
guest_serves() {
	local name=$1 limit=$2 server=$3 client=$4 src crc port
	wanted "$name" || return 0
	guest spawn --timeout "$limit" peer server "$server" || { fail "$name: the guest answers"; finish; }
	# shellcheck disable=SC2086
	port=$(tcp_port $server)
	if [ -n "$port" ]; then wait_for 5 guest_listens "$port"; else wait_for 5 guest_cm_listens; fi
	# shellcheck disable=SC2086
	run_in A timeout -k 2 "$limit" $client >"$tmp_dir/client.log" 2>"$tmp_dir/client.log.err"
	crc=$?
	[ $crc -eq 0 ] || in_guest 5 "killall ${server%% *}" >/dev/null 2>&1
	rm -f "$tmp_dir/server.log.err"
	guest wait --timeout "$limit" peer server >"$tmp_dir/server.log" 2>&1
	src=$?
	verdict "$name, roced is client" $src $crc
}

# guest_calls NAME SECONDS 'SERVER' 'CLIENT': the server on roced, the client in the guest
guest_calls() {
	local name=$1 limit=$2 server=$3 client=$4 src crc server_pid
	wanted "$name" || return 0
	# shellcheck disable=SC2086
	spawn_in A "$limit" "$tmp_dir/server.log" $server
	server_pid=$spawned_pid
	# shellcheck disable=SC2086
	server_settles A $server
	rm -f "$tmp_dir/client.log.err"
	in_guest "$limit" "$client" >"$tmp_dir/client.log" 2>&1
	crc=$?
	[ $crc -eq 0 ] || kill -TERM "$server_pid" 2>/dev/null
	wait "$server_pid"
	src=$?
	forget_pid "$server_pid"
	verdict "$name, roced is server" $src $crc
}

# perf NAME TOOL GID options...: one perftest program, both directions
perf() {
	local name=$1 tool=$2 gid=$3
	shift 3
	local opts="-x $gid -F $*"
	guest_serves "$name" 30 "$tool -d rxe0 $opts" "$tool -d roced0 $opts $SIDE_B"
	guest_calls "$name" 30 "$tool -d roced0 $opts" "$tool -d rxe0 $opts $SIDE_A"
}

# cm NAME 'server before address' 'client before address' 'rest' ADDRESS_OF_GUEST ADDRESS_OF_ROCED
cm() {
	guest_serves "$1" 30 "$2 $5 $4" "$3 $5 $4"
	guest_calls "$1" 30 "$2 $6 $4" "$3 $6 $4"
}

# pingpong NAME GID options...: ibv_rc_pingpong, both directions
pingpong() {
	local name=$1 opts="-g $2"
	shift 2
	guest_serves "$name" 20 "ibv_rc_pingpong -d rxe0 $opts $*" "ibv_rc_pingpong -d roced0 $opts $* $SIDE_B"
	guest_calls "$name" 20 "ibv_rc_pingpong -d roced0 $opts $*" "ibv_rc_pingpong -d rxe0 $opts $* $SIDE_A"
}

# verified NAME GID MTU options...: every byte and completion, once each way round
verified() {
	local name="$1, verified" opts="-x $2 -m $3 -t 60"
	shift 3
	guest_serves "$name" 65 "rdma_verify -d rxe0 $opts $*" "$verify_bin -d roced0 $opts $* $SIDE_B"
	guest_calls "$name" 65 "$verify_bin -d roced0 $opts $*" "rdma_verify -d rxe0 $opts $* $SIDE_A"
}

in_guest 10 "ping -c 3 -i 0.2 $A4" >"$tmp_dir/check.log" 2>&1 &&
	pass "the guest pings roced, IPv4" || fail "the guest pings roced, IPv4" "$tmp_dir/check.log"
in_guest 10 "ping -6 -c 3 -i 0.2 $A6" >"$tmp_dir/check.log" 2>&1 &&
	pass "the guest pings roced, IPv6" || fail "the guest pings roced, IPv6" "$tmp_dir/check.log"

cm "rping IPv4, data checked" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B4 $A4
cm "rping IPv6, data checked" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B6 $A6
cm "ucmatose" "ucmatose -b" "ucmatose -s" "-c 2 -C 10 -S 1000" $B4 $A4
cm "rdma_server and rdma_client" "rdma_server -s" "rdma_client -s" "" $B4 $A4

pingpong "ibv_rc_pingpong IPv4, polling" $V4 -n 200 -c
pingpong "ibv_rc_pingpong IPv6, events" $V6 -n 200 -c -e -m 4096 -s 16384

for tool in write read send atomic; do
	perf "ib_${tool}_bw IPv4" ib_${tool}_bw $V4 -n 200 -t 16
	perf "ib_${tool}_lat IPv4" ib_${tool}_lat $V4 -n 100
	perf "ib_${tool}_bw IPv6" ib_${tool}_bw $V6 -n 100 -t 16
	perf "ib_${tool}_lat IPv6" ib_${tool}_lat $V6 -n 100
done
for tool in write read send; do
	perf "ib_${tool}_bw MTU 256" ib_${tool}_bw $V4 -m 256 -n 50 -t 8 -s 16384
	perf "ib_${tool}_bw MTU 1024" ib_${tool}_bw $V6 -m 1024 -n 50 -t 8
	perf "ib_${tool}_bw MTU 4096" ib_${tool}_bw $V4 -m 4096 -n 100 -t 8
done
perf "ib_write_bw -a, 2 B to 8 MiB" ib_write_bw $V4 -a -n 5 -t 4 -m 4096
guest_serves "ib_send_bw -R (rdma_cm)" 30 "ib_send_bw -d rxe0 -F -R -n 100 -t 16" \
	"ib_send_bw -d roced0 -F -R -n 100 -t 16 $B4"
guest_calls "ib_send_bw -R (rdma_cm)" 30 "ib_send_bw -d roced0 -F -R -n 100 -t 16" \
	"ib_send_bw -d rxe0 -F -R -n 100 -t 16 $A4"
verified "1 B to 64 KiB, 2 QPs, MTU 1024, IPv4" $V4 1024 -q 2 -s 65537
verified "1 B to 64 KiB, 2 QPs, MTU 4096, IPv6" $V6 4096 -q 2 -s 65537

netem_loses() { in_guest 10 "tc -s qdisc show dev eth0" | tee "$tmp_dir/netem" && grep -qE 'dropped [1-9]' "$tmp_dir/netem"; }
# Echo requests that leave the guest back to back: their answers, which roced sends at once, tell the order.
netem_reorders() {
	in_guest 15 "ping -l 60 -c 60 -W 2 $A4" >"$tmp_dir/netem"
	sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' "$tmp_dir/netem" |
		awk '$1 < last { late++ } { last = $1 } END { print NR + 0 " answers, " late + 0 " late"; exit !late }'
}

# From here on the guest loses and reorders what it sends; delay is what netem reorders with.
if in_guest 10 "tc qdisc add dev eth0 root netem loss 2% delay 1ms reorder 20% 50%" >"$tmp_dir/check.log" 2>&1; then
	for tool in write read send; do
		perf "loss 2 % and reordering: ib_${tool}_bw" ib_${tool}_bw $V4 -n 50 -t 8 -s 4096
	done
	perf "loss 2 % and reordering: ib_atomic_bw" ib_atomic_bw $V4 -n 50 -t 8
	cm "loss 2 % and reordering: rping" "rping -s -a" "rping -c -a" "-V -C 20 -S 1000" $B4 $A4
	verified "loss 2 % and reordering, 2 QPs" $V4 1024 -q 2 -s 12345
	check "the guest's netem has lost frames" netem_loses
	check "the guest's netem reorders frames" netem_reorders
else
	fail "netem in the guest" "$tmp_dir/check.log"
fi

roced_stop A
finish
