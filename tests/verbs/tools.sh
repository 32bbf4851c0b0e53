#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ibverbs-utils, perftest and rdmacm-utils, unmodified, between two daemons: each tool in each service it
# knows, with events, many queue pairs, both directions, by time, inline, shared queues and connection manager.
#
# usage: tests/verbs/tools.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss ib_send_bw udaddy ibv_ud_pingpong
two_daemons

# ------------------------------------------------------------------ ibverbs-utils

# devices_are NS: the two programs that list devices name the one there is
devices_are() {
	run_in "$1" ibv_devices | grep -q roced0 && run_in "$1" ibv_devinfo -v -d roced0 | grep -q 'state:.*PORT_ACTIVE'
}
check "ibv_devices and ibv_devinfo" devices_are A

pingpong() { both "ibv_$1_pingpong ${*:2}" 20 "ibv_$1_pingpong -d roced0 -c -n 300 ${*:2}"; }

for service in rc uc ud srq; do
	pingpong $service -g $V4
	pingpong $service -g $V6 -e
done
pingpong rc -g $V4 -N
pingpong rc -g $V4 -t
pingpong rc -g $V6 -s 1000000 -m 4096 -n 30
pingpong uc -g $V4 -s 100000 -m 1024 -n 30
pingpong srq -g $V4 -q 4

# Its -c is another one, and data is not checked.
xsrq() { both "ibv_xsrq_pingpong $*" 20 "ibv_xsrq_pingpong -d roced0 -n 300 $*"; }
xsrq -g $V4
xsrq -g $V6 -e
xsrq -g $V4 -s 100000 -m 1024
cm_pair "rdma_xserver and rdma_xclient, XRC" 20 "rdma_xserver -c x" "rdma_xclient -s $B4 -c x"

# ------------------------------------------------------------------ perftest

# perf_cm 'TOOL options': through the connection manager. With -R perftest connects twice, first to tell its
# parameters, and its client may be back before its server listens again.
perf_cm() { cm_pair "$1 -R" 25 "$1 -d roced0 -F -R" "$1 -d roced0 -F -R $B4"; }

# perf 'TOOL options' [options for the name]: over the addresses of both families in turn
gid=$V6
perf() {
	local tool=$1
	shift
	[ $gid = $V4 ] && gid=$V6 || gid=$V4
	perftest "$tool $*" 25 "$tool" $gid "$@"
}

for op in write read send atomic; do
	perf ib_${op}_bw -n 300
	perf ib_${op}_lat -n 300
	perf ib_${op}_bw -n 200 -b
	perf ib_${op}_bw -n 100 -q 8
	perf ib_${op}_bw -n 100 -q 8 -b
	perf ib_${op}_bw -D 1
	perf ib_${op}_lat -D 1
	perf_cm "ib_${op}_bw -n 200"
	perf_cm "ib_${op}_lat -n 200"
done
for op in read send atomic; do # perftest has no events for writes
	perf ib_${op}_bw -n 200 -e
	perf ib_${op}_lat -n 200 -e
done
for op in write send; do
	perf ib_${op}_bw -n 300 -s 64 -I 64
	perf ib_${op}_lat -n 300 -s 200 -I 200
	perf ib_${op}_bw -c UC -n 300
	perf ib_${op}_lat -c UC -n 300
	# Few bytes at a time: a lost packet is a lost message here, and the program waits for it. perftest counts a
	# completion as -t messages, and with a count that they do not divide it may wait for ever.
	perf ib_${op}_bw -c UC -n 96 -q 8 -b -s 4096 -t 8
	perf ib_${op}_bw -c UC -n 300 -s 64 -I 64
	perf ib_${op}_lat -c UC -n 300 -s 64 -I 64
	perf ib_${op}_bw -c UC -D 1
	perf ib_${op}_lat -c UC -D 1
	perf ib_${op}_bw -a -n 10
done
perf ib_read_bw -a -n 10
perf ib_send_bw -c UC -n 200 -e
perf ib_send_lat -c UC -n 200 -e
perf ib_send_bw -c UD -n 300
perf ib_send_lat -c UD -n 300
perf ib_send_bw -c UD -n 200 -e
perf ib_send_lat -c UD -n 200 -e
perf ib_send_bw -c UD -n 100 -q 8
perf ib_send_bw -c UD -n 100 -q 8 -b
perf ib_send_bw -c UD -n 200 -b
perf ib_send_bw -c UD -D 1
perf ib_send_lat -c UD -D 1
perf ib_send_bw -c UD -n 300 -s 64 -I 64
perf ib_send_lat -c UD -n 300 -s 64 -I 64
perf ib_send_bw --use-srq -q 8 -n 100
perf ib_send_bw --use-srq -q 4 -n 100 -e
perf ib_send_lat --use-srq -n 300
perf ib_send_bw -c UD --use-srq -n 200
perf ib_send_lat -c UD --use-srq -n 300
for op in write read send atomic; do
	perf ib_${op}_bw -c XRC -n 100 -q 4
	perf ib_${op}_lat -c XRC -n 300
done
perf_cm "ib_send_bw -c UD -n 200"
perf_cm "ib_send_lat -c UD -n 200"
perf_cm "ib_send_bw --use-srq -q 4 -n 100"
perf_cm "ib_send_bw -q 8 -b -e -n 100"

# ------------------------------------------------------------------ rdmacm-utils

for b in $B4 $B6; do
	cm_pair "rping to $b" 20 "rping -s -a $b -V -C 50 -S 4000" "rping -c -a $b -V -C 50 -S 4000"
	cm_pair "ucmatose to $b, 8 connections" 20 "ucmatose -b $b -c 8 -C 20 -S 1000" "ucmatose -s $b -c 8 -C 20 -S 1000"
	cm_pair "udaddy to $b, 8 connections" 20 "udaddy -b $b -c 8 -C 20 -S 1000" "udaddy -s $b -c 8 -C 20 -S 1000"
	cm_pair "rdma_server and rdma_client to $b" 20 "rdma_server -s $b" "rdma_client -s $b"
done
cm_pair "ucmatose, given address and migrated id" 20 "ucmatose -b $B4 -c 4 -C 20 -m" "ucmatose -s $B4 -c 4 -C 20 -m"
cm_pair "rdma_xserver and rdma_xclient" 20 "rdma_xserver -c r" "rdma_xclient -s $B4 -c r"
served "rping, a persistent server for 5 clients" 20 5 "rping -s -P -a $B4" "rping -c -a $B4 -V -C 10"
served "cmtime, 100 connections" 30 1 "cmtime -b $B4 -c 100" "cmtime -s $B4 -c 100"
served "cmtime to $B6, 20 connections" 30 1 "cmtime -b $B6 -c 20" "cmtime -s $B6 -c 20"

# rping's persistent server makes a thread a client: four at once. It keeps one new connection's id at a time, so
# they come one after another.
rping_at_once() {
	local server p clients=() rc=0 i
	spawn_in B 25 "$tmp_dir/server.log" rping -s -P -a $B4
	server=$spawned_pid
	sleep "${SERVER_HEAD_START:-0.6}"
	for i in 1 2 3 4; do
		spawn_in A 20 "$tmp_dir/client$i.log" rping -c -a $B4 -V -C 3000 -S 2000
		clients+=("$spawned_pid")
		sleep 0.3
	done
	for p in "${clients[@]}"; do
		wait "$p" || rc=1
		forget_pid "$p"
	done
	end_pid "$server"
	forget_pid "$server"
	[ $rc -eq 0 ] || tail -n 4 "$tmp_dir"/client?.log.err "$tmp_dir/server.log.err"
	return $rc
}
check "rping, a persistent server for 4 clients at once" rping_at_once

mckey() { cm_pair "mckey, group $1" 20 "mckey -m $1 -b $2 -C 10 -S 500" "mckey -m $1 -b $3 -C 10 -S 500 -s"; }
mckey 239.77.0.1 $B4 $A4
mckey ff15::77:1 $B6 $A6

roced_stop A
roced_stop B
finish
