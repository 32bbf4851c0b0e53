#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two Soft-RoCE guests with stock kernels, each behind a gateway; four paths between these, and SM4-GCM. perftest and rping run in the
# guests as if they shared a wire, while a path is cut, keys are changed and a gateway is started anew.
#
# usage: tests/interop/gateway.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"

need ss qemu-system-x86_64 busybox cpio depmod python3 tshark ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw rping
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
guest build >"$tmp_dir/guest.log" 2>&1 || skip_all "no guest image: $(tail -n 1 "$tmp_dir/guest.log")"

wire_gateways 4400
for n in A B; do
	[ $n = A ] && addrs="$A4/24+$A6/64" || addrs="$B4/24+$B6/64"
	ip -n "$(ns G$n)" tuntap add host mode tap
	guest_start $n --netns "$(ns G$n)" --nic "tap=host,mtu=4200,addr=$addrs" --file "$verify_bin" ||
		{ fail "guest $n boots" "$tmp_dir/guest.log" "$tmp_dir/$n.console"; finish; }
done
gateway_fabric "host_mbps = 1000; leaf_mbps = 400; buffer_bytes = 4194304; convergence_us = 100000000;" || finish
gateway() {
	gateway_start "$1" "reorder_us = 400000; silence_us = 400000;" "protection = { psk_file = \"$tmp_dir/psk\"; suites = [ \"sm4-gcm\" ];
		peers = ( { network = \"10.99.0.0/24\"; policy = \"required\"; } ); };" || finish
}
psk "$tmp_dir/psk" "$KEY"
gateway GA
gateway GB

# in_guest A|B SECONDS 'COMMAND'
in_guest() { guest exec --timeout "$2" "$1" "$3"; }

# guests NAME SECONDS 'SERVER' 'CLIENT' [COMMAND...]: the server in B, the client in A; a command in between
guests() {
	local name=$1 limit=$2 server=$3 client=$4 src crc= port pid
	shift 4
	wanted "$name" || return 0
	guest spawn --timeout "$limit" B server "$server" || { fail "guest B answers"; finish; }
	# shellcheck disable=SC2086
	port=$(tcp_port $server)
	port=${port:+"netstat -ltn | grep -q ':$port '"}
	in_guest B 25 "n=100; until ${port:-rdma resource show cm_id | grep -q LISTEN}; do [ \$n -gt 0 ] || exit 1; n=\$((n - 1)); usleep 200000; done" \
		>/dev/null 2>&1
	in_guest A "$limit" "$client" >"$tmp_dir/client.log" 2>&1 &
	pid=$!
	if [ $# -gt 0 ]; then
		sleep 3
		"$@" >"$tmp_dir/check.log" 2>&1 || crc="$1 failed, "
	fi
	wait $pid || crc="${crc:-}$?"
	crc=${crc:-0}
	[ "$crc" = 0 ] || in_guest B 5 "killall ${server%% *}" >/dev/null 2>&1
	guest wait --timeout "$limit" B server >"$tmp_dir/server.log" 2>&1
	src=$?
	if [ "$crc" = 0 ] && [ $src -eq 0 ]; then
		pass "$name"
	else
		fail "$name (server status $src, client status $crc)" "$tmp_dir"/{server,client,check}.log
	fi
}

# perf NAME TOOL GID [OPTIONS]
perf() {
	local name=$1 tool=$2 gid=$3 to=$B4
	shift 3
	guests "$name" 60 "$tool -d rxe0 -x $gid -F $*" "$tool -d rxe0 -x $gid -F $* $to"
}

# hardware_counter GUEST NAME
hardware_counter() { in_guest "$1" 10 "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/$2" | tr -d '\r\n'; }

# ------------------------------------------------------------------ programs

check "the guests ping each other" in_guest A 10 "ping -c 3 -i 0.3 -W 2 $B4"
ip netns exec "$(ns F)" timeout 300 tshark -i a -i b -a duration:240 -s 128 -w "$tmp_dir/fabric.pcapng" >"$tmp_dir/tshark.log" 2>&1 &
tshark_pid=$!
pids+=("$tshark_pid")
wait_for 20 grep -q "Capturing on" "$tmp_dir/tshark.log"
perf "ib_write_bw" ib_write_bw $V4 -n 300
perf "ib_write_bw, 4 queue pairs" ib_write_bw $V4 -n 100 -q 4
perf "ib_write_bw, IPv6 GIDs" ib_write_bw $V6 -n 100
perf "ib_read_bw" ib_read_bw $V4 -n 100
perf "ib_send_bw" ib_send_bw $V4 -n 300
perf "ib_send_bw, UC" ib_send_bw $V4 -n 300 -c UC
perf "ib_send_bw, UD" ib_send_bw $V4 -n 300 -c UD -s 1024
perf "ib_atomic_bw" ib_atomic_bw $V4 -n 100
perf "ib_write_lat" ib_write_lat $V4 -n 200
guests "rping" 60 "rping -s -a $B4 -V -C 20 -S 4000" "rping -c -a $B4 -V -C 20 -S 4000"
guests "every byte" 90 "rdma_verify -d rxe0 -x $V4 -m 1024 -t 60 -q 4 -s 65537" "rdma_verify -d rxe0 -x $V4 -m 1024 -t 60 -q 4 -s 65537 $B4"
# A packet that the wire lost (a busy machine's packet sockets do that) is missed by its flow, and by nothing else.
nothing_out_of_order() {
	local a b missing
	a=$(hardware_counter A out_of_seq_request) b=$(hardware_counter B out_of_seq_request)
	missing=$(($(counter GA missing) + $(counter GB missing)))
	echo "out of sequence: at A $a, at B $b; held to wait for others: at GA $(counter GA ahead), at GB $(counter GB ahead);" \
		"missing $missing, lost by the senders' counts $(counter GA lost) and $(counter GB lost), late $(counter GA late) and $(counter GB late)"
	[ $((a + b)) -le $missing ] && [ "$(counter GB ahead)" -gt 100 ] && [ "$(counter GA late)" -eq 0 ] && [ "$(counter GB late)" -eq 0 ]
}
check "Soft-RoCE saw no request out of its turn, though packets overtook each other" nothing_out_of_order
check "all four paths carried packets" eval '[ "$(spines_used 500)" -eq 4 ]'
end_pid "$tshark_pid"
forget_pid "$tshark_pid"
# seen FILTER
seen() { tshark -r "$tmp_dir/fabric.pcapng" -Y "$1" 2>/dev/null | wc -l; }
only_tunnels() {
	echo "RoCE $(seen "udp.dstport == 4791"), protected $(seen "udp.dstport == 1000")"
	[ "$(seen "udp.dstport == 4791")" -eq 0 ] && [ "$(seen "udp.dstport == 1000")" -gt 1000 ] &&
		[ "$(seen "udp.dstport >= $GATEWAY_PORT && udp.dstport < $((GATEWAY_PORT + 64))")" -eq 0 ]
}
check "tshark on the paths sees protected tunnels, and no RoCE" only_tunnels
check "the gateways agreed on SM4-GCM" grep -q "sm4-gcm" "$tmp_dir/roced-GA.log"

# ------------------------------------------------------------------ what goes wrong meanwhile

# long NAME COMMAND...: ib_write_bw for a while
long() {
	local name=$1
	shift
	guests "$name" 60 "ib_write_bw -d rxe0 -x $V4 -F -D 8 -u 20" "ib_write_bw -d rxe0 -x $V4 -F -D 8 -u 20 $B4" "$@"
}
cut_one() {
	fabric_ctl cut spine 1
	sleep 3
	fabric_ctl restore spine 1
}
rekeys() {
	local i
	for i in 1 2 3 4 5; do
		"$build_dir/app/rocectl/rocectl" rekey --socket "$(telemetry_socket GA)" all || return 1
		sleep 0.5
	done
}
again() {
	roced_stop "$1"
	roced_launch "$1"
}
long "a path is cut" cut_one
guests "a path is cut, rping" 60 "rping -s -a $B4 -V -C 300 -S 4000" "rping -c -a $B4 -V -C 300 -S 4000" cut_one
long "keys are changed" rekeys
check "and nothing was refused for it" eval '[ "$(counter GB "drop wrong_tag")" -eq 0 ] && [ "$(counter GB "drop unknown_spi")" -eq 0 ]'
long "the gateway of the server is started anew" again GB
guests "the gateway of the client is started anew, rping" 60 "rping -s -a $B4 -V -C 300 -S 4000" "rping -c -a $B4 -V -C 300 -S 4000" again GA

roced_stop GA
roced_stop GB
fabric_stop
finish
