#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Soft-RoCE at the other end of a fabric with four paths, two of them slow: whatever roced does on several paths, a peer that
# knows nothing of it gets its packets in order.
#
# usage: tests/interop/fabric.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/peer.sh"

[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
fabric_ns=A
roced_iface=port

# A:port -- A:low, host 0 of the fabric; the guest's tap is host 1, at the other leaf
between() {
	veth A port A low 4200
	cat >"$tmp_dir/fabric.conf" <<-END
		eal = { args = [ "--no-huge", "-m", "256" ]; };
		control = { socket = "$tmp_dir/fabric.sock"; };
		fabric = { leaves = 2; spines = 4; hosts_per_leaf = 1; host_mbps = 10000; leaf_mbps = 1000;
			buffer_bytes = 4194304; convergence_us = 100000000; };
		ports = ( { name = "low"; host = 0; mtu = 4200;
		            device = "net_af_packet0,iface=low,blocksz=65536,framesz=8192,framecnt=2048"; },
		          { name = "guest"; host = 1; mtu = 4200;
		            device = "net_af_packet1,iface=roce,blocksz=65536,framesz=8192,framecnt=2048"; } );
	END
	fabric_start "$tmp_dir/fabric.conf" && fabric_ctl rate spine 0 count 2 20 >/dev/null
}

daemon_and_guest python3

# out_of_seq: requests that came to the guest out of their turn
out_of_seq() { in_guest 10 "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/out_of_seq_request"; }

perf "four paths: ib_write_bw" ib_write_bw $V4 -n 300
perf "four paths: ib_read_bw" ib_read_bw $V4 -n 100
cm "four paths: rping" "rping -s -a" "rping -c -a" "-V -C 20 -S 4000" $B4 $A4
verified "four paths, 4 QPs" $V4 1024 -q 4 -s 65537
nothing_out_of_order() {
	local n
	n=$(out_of_seq)
	echo "out of sequence at the guest: $n; paths: $(fabric_value "*[p['up']['packets'] for p in s['spines']]")"
	[ "$n" = 0 ]
}
check "nothing came to Soft-RoCE out of its turn" nothing_out_of_order
check "several paths were in use, one for each queue pair" eval '[ "$(spines_used 100)" -ge 2 ]'
check "Soft-RoCE saw no packet of roced's own kind" eval '[ "$(counter A sacks_sent)" -eq 0 ]'

roced_stop A
fabric_stop
finish
