# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# One daemon and one Soft-RoCE guest, joined by a tap, and programs that meet each other's in both directions. A
# suite sources common.sh, then this file.
#
# The guest's first NIC is a tap on which roced has its port: RoCE, ARP, neighbour discovery and echo
# go there. The second NIC joins the guest's kernel with the host's, for the TCP side channel.

V4=1 V6=2 # the same GID indices on both sides: link-local, IPv4, IPv6

# daemon_and_guest PROGRAM...: the suite needs these; both ends are up, or the suite is over. GUEST_FILE: one more program that
# the guest gets
daemon_and_guest() {
	need ss qemu-system-x86_64 busybox cpio depmod "$@"
	guest build >"$tmp_dir/guest.log" 2>&1 || skip_all "no guest image: $(tail -n 1 "$tmp_dir/guest.log")"

	make_ns A
	for tap in roce side; do ip -n "$(ns A)" tuntap add "$tap" mode tap; done
	guest_start peer --netns "$(ns A)" --nic "tap=roce,mtu=4200,addr=$B4/24+$B6/64" \
		--nic "tap=side,mtu=1500,addr=$SIDE_B/24" --file "$verify_bin" ${GUEST_FILE:+--file "$GUEST_FILE"} ||
		{ fail "the guest boots" "$tmp_dir/guest.log" "$tmp_dir/peer.console"; finish; }
	ip -n "$(ns A)" link set dev side arp on
	ip -n "$(ns A)" addr add "$SIDE_A/24" dev side
	in_ns A sh -c 'echo 0 >/proc/sys/net/ipv6/conf/side/disable_ipv6'
	ip -n "$(ns A)" addr add fd88::1/64 dev side nodad # getaddrinfo() needs one for IPv6
	# what a suite puts between the guest's tap and roced
	! declare -F between >/dev/null || between || finish
	roced_start A "$(af_packet_device "${roced_iface:-roce}")" 4096 4200 "$A4/24" "$A6/64" || finish
}

in_guest() { guest exec --timeout "$1" peer "${@:2}"; }

# guest_until SECONDS 'CONDITION': the guest's shell waits, which is cheaper than asking it again and again
guest_until() {
	in_guest $(($1 + 5)) "n=$(($1 * 5)); until $2; do [ \$n -gt 0 ] || exit 1; n=\$((n - 1)); usleep 200000; done"
}

# guest_settles SERVER...: wait until a server program in the guest is ready for its client
guest_settles() {
	local port ready="rdma resource show cm_id | grep -q LISTEN"
	port=$(tcp_port "$@")
	[ -z "$port" ] || ready="netstat -ltn | grep -q ':$port '"
	[ "$1" != mckey ] || ready="ip maddr show dev eth0 | grep -qw $3" # mckey -m GROUP
	guest_until 20 "$ready" >/dev/null 2>&1
}

# with_guest_server SECONDS 'SERVER' 'CLIENT': the server in the guest, the client on roced; sets src and crc
with_guest_server() {
	guest spawn --timeout "$1" peer server "$2" || { fail "the guest answers"; finish; }
	# shellcheck disable=SC2086
	guest_settles $2
	# shellcheck disable=SC2086
	run_in A timeout -k 2 "$1" $3 >"$tmp_dir/client.log" 2>"$tmp_dir/client.log.err"
	crc=$?
	[ $crc -eq 0 ] || in_guest 5 "killall ${2%% *}" >/dev/null 2>&1
	rm -f "$tmp_dir/server.log.err"
	guest wait --timeout "$1" peer server >"$tmp_dir/server.log" 2>&1
	src=$?
}

# with_guest_client SECONDS 'SERVER' 'CLIENT': the server on roced, the client in the guest; sets src and crc
with_guest_client() {
	local server_pid
	# shellcheck disable=SC2086
	spawn_in A "$1" "$tmp_dir/server.log" $2
	server_pid=$spawned_pid
	# shellcheck disable=SC2086
	server_settles A $2
	rm -f "$tmp_dir/client.log.err"
	in_guest "$1" "$3" >"$tmp_dir/client.log" 2>&1
	crc=$?
	[ $crc -eq 0 ] || kill -TERM "$server_pid" 2>/dev/null
	wait "$server_pid"
	src=$?
	forget_pid "$server_pid"
}

# guest_serves and guest_calls NAME SECONDS 'SERVER' 'CLIENT': both programs have to end well
guest_serves() {
	local src crc
	wanted "$1" || return 0
	with_guest_server "${@:2}"
	verdict "$1, roced is client" $src $crc
}

guest_calls() {
	local src crc
	wanted "$1" || return 0
	with_guest_client "${@:2}"
	verdict "$1, roced is server" $src $crc
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

# pingpong SERVICE NAME GID options...: ibv_SERVICE_pingpong with its data checked, both directions
pingpong() {
	local tool=ibv_$1_pingpong name="ibv_$1_pingpong $2" opts="-g $3 -c"
	shift 3
	guest_serves "$name" 20 "$tool -d rxe0 $opts $*" "$tool -d roced0 $opts $* $SIDE_B"
	guest_calls "$name" 20 "$tool -d roced0 $opts $*" "$tool -d rxe0 $opts $* $SIDE_A"
}

# verified NAME GID MTU options...: every byte and completion, once each way round
verified() {
	local name="$1, verified" opts="-x $2 -m $3 -t 60"
	shift 3
	guest_serves "$name" 65 "rdma_verify -d rxe0 $opts $*" "$verify_bin -d roced0 $opts $* $SIDE_B"
	guest_calls "$name" 65 "$verify_bin -d roced0 $opts $*" "rdma_verify -d rxe0 $opts $* $SIDE_A"
}

# guest_hosts NAME SECONDS TIMES 'SERVER' 'CLIENT': a server in the guest that does not end by itself, for clients in
# a row on roced; common.sh's `served` has the daemon's side
guest_hosts() {
	local name=$1 limit=$2 times=$3 server=$4 client=$5 i rc=0
	wanted "$name" || return 0
	guest spawn --timeout "$limit" peer server "$server" || { fail "$name: the guest answers"; finish; }
	# shellcheck disable=SC2086
	guest_settles $server
	for ((i = 0; i < times && rc == 0; i++)); do
		# shellcheck disable=SC2086
		run_in A timeout -k 2 "$limit" $client >"$tmp_dir/client.log" 2>"$tmp_dir/client.log.err"
		rc=$?
	done
	in_guest 5 "killall ${server%% *}" >/dev/null 2>&1 || rc="$rc, and the server ended"
	guest wait --timeout 5 peer server >"$tmp_dir/server.log" 2>&1
	rm -f "$tmp_dir/server.log.err"
	hosted "$name, roced is client" "$rc"
}

# guest_visits NAME SECONDS TIMES 'SERVER' 'CLIENT': the same with the server on roced
guest_visits() {
	local name=$1 limit=$2 times=$3 server=$4 client=$5 server_pid i rc=0
	wanted "$name" || return 0
	# shellcheck disable=SC2086
	spawn_in A "$limit" "$tmp_dir/server.log" $server
	server_pid=$spawned_pid
	# shellcheck disable=SC2086
	server_settles A $server
	rm -f "$tmp_dir/client.log.err"
	for ((i = 0; i < times && rc == 0; i++)); do
		in_guest "$limit" "$client" >"$tmp_dir/client.log" 2>&1
		rc=$?
	done
	kill -0 "$server_pid" 2>/dev/null || rc="$rc, and the server ended"
	end_pid "$server_pid"
	forget_pid "$server_pid"
	hosted "$name, roced is server" "$rc"
}

# hosted NAME STATUS: the verdict on the clients of a server that does not end
hosted() {
	if [ "$2" = 0 ]; then pass "$1"; else verdict "$1" 0 1; fi
}

# hosts NAME TIMES 'server before address' 'client before address' ADDRESS_OF_GUEST ADDRESS_OF_ROCED: a server that does
# not end by itself, both directions
hosts() {
	guest_hosts "$1" 30 "$2" "$3 $5" "$4 $5"
	guest_visits "$1" 30 "$2" "$3 $6" "$4 $6"
}

# With -R perftest connects twice, first to tell its parameters. roced lets a request wait for its listener; Linux says
# at once that there is none (REJ reason 8, or SIDR status 1), and the client goes on with an id that it has destroyed.
client_was_early() {
	grep -qE 'REJECTED; error: 8|UNREACHABLE; error: 1[.]' "$tmp_dir"/client.log{,.err} 2>/dev/null
}

# cm_perf 'TOOL options': perftest over the connection manager, both directions. A run whose client was back before
# the guest's server says nothing about us, so it is made again.
cm_perf() {
	local name="$1 -R" src crc try
	wanted "$name" || return 0
	for try in 1 2 3 4 5; do
		with_guest_server 30 "$1 -d rxe0 -F -R" "$1 -d roced0 -F -R $B4"
		[ $crc -ne 0 ] && client_was_early || break
		echo "perftest's client was back before its server (try $try)"
	done
	if [ $crc -ne 0 ] && client_was_early; then
		skip "$name, roced is client" "perftest's client was always back before the guest's server, and crashes then"
	else
		verdict "$name, roced is client" $src $crc
	fi
	guest_calls "$name" 30 "$1 -d roced0 -F -R" "$1 -d rxe0 -F -R $A4"
}
