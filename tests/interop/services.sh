# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Cases of the interop suite, which sources this file: unreliable connections and datagrams, shared receive queues,
# and the programs of the connection manager. Few messages each: the guest's processor is an emulated one.

GROUP6=ff15::77:1

service_cases() {
	pingpong uc "IPv4, MTU 256" $V4 -n 50 -m 256 -s 3000
	pingpong uc "IPv6, events" $V6 -n 100 -e -s 10000
	pingpong ud "IPv4, MTU 4096" $V4 -n 100 -s 4000
	pingpong ud "IPv6, events" $V6 -n 100 -e
	pingpong srq "IPv4, polling" $V4 -n 20 -q 8
	pingpong srq "IPv6, events" $V6 -n 20 -q 4 -e

	# Small bursts: a lost packet is a lost message to these services, and the programs wait for it.
	local op
	for op in send write; do
		perf "ib_${op}_bw UC IPv4" ib_${op}_bw $V4 -c UC -n 50 -t 5 -s 4096
		perf "ib_${op}_lat UC IPv6" ib_${op}_lat $V6 -c UC -n 50
	done
	perf "ib_send_bw UD IPv4" ib_send_bw $V4 -c UD -n 50 -t 5
	perf "ib_send_lat UD IPv6, events" ib_send_lat $V6 -c UD -n 50 -e
	perf "ib_send_bw --use-srq, 4 QPs" ib_send_bw $V4 --use-srq -q 4 -n 50 -t 5
	perf "ib_send_bw --use-srq, few receives" ib_send_bw $V4 --use-srq -q 2 -n 40 -t 16 -r 4 -s 1024
	perf "ib_send_bw UD --use-srq" ib_send_bw $V6 -c UD --use-srq -n 50 -t 5
	perf "ib_send_bw UC, 4 QPs, both ways" ib_send_bw $V4 -c UC -q 4 -b -n 20 -t 5 -s 2048
}

# groups NAME GROUP ADDRESS_OF_GUEST ADDRESS_OF_ROCED: who listens in a group hears all that the other sends to it
groups() {
	local what="-C 10 -S 500"
	guest_serves "$1" 40 "mckey -m $2 -b $3 $what" "mckey -m $2 -b $4 $what -s"
	guest_calls "$1" 40 "mckey -m $2 -b $4 $what" "mckey -m $2 -b $3 $what -s"
}

# Linux does not join IPv6 groups over RoCE v2, so its own end has to say first that it does.
groups6() {
	local said
	wanted "$1" || return 0
	if said=$(in_guest 10 "mckey -m $GROUP6 -b $B6 -C 1 -s 2>&1"); then
		groups "$1" $GROUP6 $B6 $A6
	else
		skip "$1" "the guest's kernel joins no IPv6 group over RoCE v2: $(grep -m 1 joining: <<<"$said")"
	fi
}

manager_cases() {
	cm "ucmatose IPv6, 4 connections" "ucmatose -b" "ucmatose -s" "-c 4 -C 10 -S 1000" $B6 $A6
	cm "udaddy IPv4, 4 connections" "udaddy -b" "udaddy -s" "-c 4 -C 10 -S 1000" $B4 $A4
	cm "udaddy IPv6" "udaddy -b" "udaddy -s" "-C 10 -S 1000" $B6 $A6
	cm "rdma_server and rdma_client IPv6" "rdma_server -s" "rdma_client -s" "" $B6 $A6
	guest_serves "rdma_xserver and rdma_xclient" 20 "rdma_xserver -c r" "rdma_xclient -c r -s $B4"
	guest_calls "rdma_xserver and rdma_xclient" 20 "rdma_xserver -c r" "rdma_xclient -c r -s $A4"
	cm_perf "ib_send_lat -n 10"
	cm_perf "ib_send_bw -c UD -n 50 -t 5"
	hosts "cmtime, 20 connections" 1 "cmtime -b" "cmtime -c 20 -s" $B4 $A4
	hosts "rping, a persistent server for 3 clients" 3 "rping -s -P -a" "rping -c -V -C 5 -S 1000 -a" $B4 $A4
	clients_at_once
	groups mckey 239.77.0.1 $B4 $A4
	groups6 "mckey IPv6"
}

# at_once ADDRESS: a shell's line for three clients of rping's persistent server, which makes a thread for each. It
# keeps one new connection's id at a time, so they start one after another.
at_once() {
	echo "for i in 1 2 3; do rping -c -a $1 -V -C 200 -S 500 & all=\"\$all \$!\"; sleep 1; done;" \
		"for p in \$all; do wait \$p || exit 1; done"
}

clients_at_once() {
	local name="rping, a persistent server for 3 clients at once"
	at_once $B4 >"$tmp_dir/at_once"
	guest_hosts "$name" 40 1 "rping -s -P -a $B4" "sh $tmp_dir/at_once"
	guest_visits "$name" 40 1 "rping -s -P -a $A4" "$(at_once $A4)"
}

# Programs that end although messages are lost: WRITEs whose receiver does not count, and a time instead of a number.
lossy_service_cases() {
	perf "loss 2 % and reordering: ib_write_bw UC" ib_write_bw $V4 -c UC -n 50 -t 5 -s 4096
	perf "loss 2 % and reordering: ib_send_bw UC, by time" ib_send_bw $V4 -c UC -D 1 -t 5 -s 4096
	perf "loss 2 % and reordering: ib_send_bw UD, by time" ib_send_bw $V4 -c UD -D 1 -t 5
}
