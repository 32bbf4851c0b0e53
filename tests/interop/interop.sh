#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# roced against Linux Soft-RoCE (rdma_rxe) in a small virtual machine, both as server and as client.
#
# usage: tests/interop/interop.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/peer.sh"
. "$(dirname "$0")/services.sh"

daemon_and_guest ss ib_write_bw rping udaddy ibv_ud_pingpong

in_guest 10 "ping -c 3 -i 0.2 $A4" >"$tmp_dir/check.log" 2>&1 &&
	pass "the guest pings roced, IPv4" || fail "the guest pings roced, IPv4" "$tmp_dir/check.log"
in_guest 10 "ping -6 -c 3 -i 0.2 $A6" >"$tmp_dir/check.log" 2>&1 &&
	pass "the guest pings roced, IPv6" || fail "the guest pings roced, IPv6" "$tmp_dir/check.log"

cm "rping IPv4, data checked" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B4 $A4
cm "rping IPv6, data checked" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B6 $A6
cm "ucmatose" "ucmatose -b" "ucmatose -s" "-c 2 -C 10 -S 1000" $B4 $A4
cm "rdma_server and rdma_client" "rdma_server -s" "rdma_client -s" "" $B4 $A4

pingpong rc "IPv4, polling" $V4 -n 200
pingpong rc "IPv6, events" $V6 -n 200 -e -m 4096 -s 16384

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
cm_perf "ib_send_bw -n 100 -t 16"
verified "1 B to 64 KiB, 2 QPs, MTU 1024, IPv4" $V4 1024 -q 2 -s 65537
verified "1 B to 64 KiB, 2 QPs, MTU 4096, IPv6" $V6 4096 -q 2 -s 65537

service_cases
manager_cases

netem_loses() { in_guest 10 "tc -s qdisc show dev eth0" | tee "$tmp_dir/netem" && grep -qE 'dropped [1-9]' "$tmp_dir/netem"; }
# Echo requests that leave the guest back to back: their answers, which roced sends at once, tell the order.
netem_reorders() {
	local try
	# A slow guest may send so far apart that a frame's successors do not come before it.
	for try in 1 2 3 4 5; do
		in_guest 15 "ping -l 60 -c 60 -W 2 $A4" >"$tmp_dir/netem"
		sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' "$tmp_dir/netem" |
			awk '$1 < last { late++ } { last = $1 } END { print NR + 0 " answers, " late + 0 " late"; exit !late }' &&
			return 0
	done
	return 1
}

# From here on the guest loses and reorders what it sends; delay is what netem reorders with.
if in_guest 10 "tc qdisc add dev eth0 root netem loss 2% delay 1ms reorder 20% 50%" >"$tmp_dir/check.log" 2>&1; then
	for tool in write read send; do
		perf "loss 2 % and reordering: ib_${tool}_bw" ib_${tool}_bw $V4 -n 50 -t 8 -s 4096
	done
	perf "loss 2 % and reordering: ib_atomic_bw" ib_atomic_bw $V4 -n 50 -t 8
	cm "loss 2 % and reordering: rping" "rping -s -a" "rping -c -a" "-V -C 20 -S 1000" $B4 $A4
	lossy_service_cases
	verified "loss 2 % and reordering, 2 QPs" $V4 1024 -q 2 -s 12345
	check "the guest's netem has lost frames" netem_loses
	check "the guest's netem reorders frames" netem_reorders
else
	fail "netem in the guest" "$tmp_dir/check.log"
fi

# What both ends have to agree to is offered to the guest, which does not know it, and then never used.
nothing_but_the_standard() {
	local name
	for name in multipath_agreed multipath_listed sacks_sent sacks_received unagreed; do
		[ "$(counter A $name)" = 0 ] || { echo "$name is not 0"; return 1; }
	done
	echo "offered $(counter A multipath_offered)"
	[ "$(counter A multipath_offered)" -gt 0 ]
}
check "the guest was offered several paths and got none of it" nothing_but_the_standard

roced_stop A
finish
