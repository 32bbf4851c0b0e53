#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rsockets: rstream, riostream, rcopy and udpong, unmodified, between two daemons, and programs for TCP over
# rdma-core's preload library. The other end is our own; tests/interop/rsockets.sh has rdma-core's.
#
# usage: tests/verbs/rsockets.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss rstream riostream rcopy udpong
two_daemons

# ------------------------------------------------------------------ streams

# stream 'PROGRAM options' ADDRESS: the same options at both ends
stream() { cm_pair "$1 to $2" "${LIMIT:-40}" "$1 -b $2" "$1 -s $2"; }

for b in $B4 $B6; do
	stream "rstream -C 100 -S 1000" $b
	stream "rstream -T a -T v -C 100 -S 5000" $b
	stream "rstream -T b -T v -C 100 -S 70000" $b
	stream "rstream -T n -T v -C 100 -S 300" $b
	stream "riostream -C 100 -S 1000" $b
done
stream "rstream -T b -T v -I 200 -C 20 -S 64" $B4
stream "rstream -T a -T v -I 2 -C 200 -S 200000" $B6
# around the sizes of inline data, packets, messages and half of the ring
for size in 1 64 65 4097 65536 65537 262144 262145 1048576 4194304; do
	stream "rstream -T b -T v -C 10 -S $size" $B4
done
stream "rstream -T r -C 10 -S 1000" $B4
stream "rstream -i 0 -C 100 -S 64" $B4
stream "rstream -i 200 -C 100 -S 200" $B4
stream "rstream -f ip -B 4096 -C 100 -S 20000 -T b -T v" $B4
stream "rstream -k 1 -T b -C 100 -S 1000" $B4
stream "rstream -I 3 -C 1 -S 30000000 -T b -T v" $B4
stream "riostream -T b -T v -C 50 -S 100000" $B4
stream "riostream -T a -T v -C 50 -S 3000" $B4
stream "riostream -T b -T v -I 20 -C 5 -S 65536" $B6

# copies ADDRESS: a file over rcopy arrives whole. Its server does not end by itself.
copies() {
	local from="$tmp_dir/from" to="$tmp_dir/to" server rc=0
	head -c 20000003 /dev/urandom >"$from"
	spawn_in B 40 "$tmp_dir/server.log" rcopy
	server=$spawned_pid
	server_settles B rcopy
	run_in A timeout 30 rcopy "$from" "$1:$to" || rc=1
	cmp "$from" "$to" || rc=1
	end_pid "$server"
	forget_pid "$server"
	return $rc
}
check "rcopy to $B4, contents compared" copies $B4

# ------------------------------------------------------------------ programs for TCP

preload=$(find /usr/lib -name librspreload.so -path '*/rsocket/*' 2>/dev/null | head -n 1)
# over_preload NAME ENVIRONMENT 'OPTIONS'
over_preload() {
	local run="env $2 LD_PRELOAD=$preload rstream $3 -T b -T v -C 50 -S 5000"
	[ -n "$preload" ] || { skip "$1" "there is no librspreload"; return; }
	cm_pair "$1" 40 "$run -b $B4" "$run -s $B4"
}
over_preload "preloaded rstream -T s" NO=1 "-T s"

# What follows meets over the kernel's TCP or UDP first: it gets the devices' addresses on the side channel.
for n in A B; do
	[ $n = A ] && four=$A4 six=$A6 || four=$B4 six=$B6
	ip -n "$(ns $n)" addr add "$four/24" dev side
	ip -n "$(ns $n)" addr add "$six/64" dev side nodad
done

roce_packets() {
	local var=roced_pid_B
	kill -USR1 "${!var}"
	sleep 0.3
	tac "$tmp_dir/roced-B.log" | grep -m 1 -o 'rx_pkts [0-9]*' | cut -d' ' -f2
}
# over_roce NAME LEAST CASE...: and so many packets of it reach the other daemon
over_roce() {
	local name=$1 least=$2 before after
	shift 2
	wanted "$name" || return 0
	before=$(roce_packets)
	"$@"
	after=$(roce_packets)
	check "$name goes over RoCE" test $((after - before)) -ge "$least"
}

# The server's child takes the connection over: until then both ends talk TCP.
[ -z "$preload" ] || over_roce "preloaded rstream -T f" 100 \
	over_preload "preloaded rstream -T f, the server forks" RDMAV_FORK_SAFE=1 "-T f"

# ------------------------------------------------------------------ datagrams

# datagrams 'options' ADDRESS: udpong's server does not end by itself
datagrams() { served "udpong $1 to $2" 40 1 "udpong $1 -b $2" "udpong $1 -s $2"; }
over_roce "udpong -C 100 -S 500" 90 datagrams "-C 100 -S 500" $B4
over_roce "udpong -T a -C 100 -S 700" 90 datagrams "-T a -C 100 -S 700" $B6
datagrams "-T b -C 100 -S 1500" $B6
datagrams "-T n -C 1000 -S 64" $B4

roced_stop A
roced_stop B
finish
