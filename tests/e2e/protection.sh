#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Protection between daemons: programs run as they do without, over four sprayed paths, with AES-256-GCM and with SM4-GCM; nothing plain
# is on the wire; keys change every 100 ms or so and nothing is lost; ends that do not have the same key say so.
#
# usage: tests/e2e/protection.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
need ss ib_write_bw ib_send_bw rping tshark python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_fabric 4300

psk "$tmp_dir/A.psk" "$KEY"
psk "$tmp_dir/B.psk" "$KEY"

fabric_config "host_mbps = 1000; leaf_mbps = 1000; buffer_bytes = 8388608;" | sed 's/mtu = 4200/mtu = 4300/' >"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish

sprayed='multipath = { peers = [ "10.77.0.0/24" ]; };'
# daemons KEYS: with these keys of both protection groups
daemons() { both_protected "$1" "$required4" "$sprayed"; }

programs() {
	perftest "$1: ib_write_bw" 60 ib_write_bw $V4 -D 2 -q 4 -t 16
	perftest "$1: ib_send_bw" 60 ib_send_bw $V4 -n 2000 -s 4096
	cm_pair "$1: rping" 30 "rping -s -a $B4 -V -C 100 -S 4000" "rping -c -a $B4 -V -C 100 -S 4000"
	verify "$1: every byte" 60 $V4 4096 -q 4 -s 262144
}

# What rping writes, in the clear.
plain_text() { on_wire 'frame contains "rdma-ping-"'; }

# Without protection: the same results, and what the wire is looked through for is found.
MORE=$sprayed roced_start A "$(af_packet_device port)" 4096 4300 "$A4/24" "$A6/64" || finish
MORE=$sprayed roced_start B "$(af_packet_device port)" 4096 4300 "$B4/24" "$B6/64" || finish
watch_wire 12
programs "without"
wait "$tshark_pid"
check "without: all is plain" [ "$(on_wire "udp.dstport == 4791")" -gt 100 ]
check "without: what rping writes can be read" [ "$(plain_text)" -gt 0 ]
stop_daemons

for cipher in aes-256-gcm sm4-gcm; do
	daemons "suites = [ \"$cipher\" ];"
	watch_wire 12
	programs "$cipher"
	wait "$tshark_pid"
	check "$cipher: no RoCE packet is plain" only_protected
	check "$cipher: nothing that rping writes can be read" [ "$(plain_text)" -eq 0 ]
	check "$cipher: both agreed on it" grep -q "$cipher" "$tmp_dir/roced-A.log"
	check "$cipher: nothing was refused" nothing_refused
	stop_daemons
done

# ------------------------------------------------------------------ keys that change

# spis: how many A has sent with, in what was captured
spis() {
	tshark -r "$tmp_dir/wire.pcapng" -Y "ip.src == $A4 && udp.dstport == 1000" -T fields -e udp.payload 2>/dev/null |
		cut -c 9-16 | sort -u | wc -l
}
daemons "rekey_ms = 100;"
changes_lose_nothing() {
	perftest "rekey_ms = 100: ib_write_bw" 60 ib_write_bw $V4 -D 5 -q 4 -t 16
	perftest "rekey_ms = 100: ib_send_bw" 60 ib_send_bw $V4 -D 3 -s 4096
	verify "rekey_ms = 100: every byte" 60 $V4 4096 -q 4 -s 262144
}
watch_wire 6
changes_lose_nothing
wait "$tshark_pid"
n=$(spis)
check "keys were changed several times a second ($n)" [ "$n" -ge 12 ]
check "and nothing was refused" nothing_refused
stop_daemons

# ------------------------------------------------------------------ two workers

WORKERS='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; } ); },
	{ lcore = 2; cpus = "0-1"; rx = ( { port = "p0"; queue = 1; } ); }'
export WORKERS
af_packet_device() { echo "net_af_packet0,iface=$1,blocksz=65536,framesz=8192,framecnt=2048,qpairs=2"; }
daemons ""
programs "two workers"
check "two workers: nothing was refused" nothing_refused
stop_daemons
unset WORKERS
af_packet_device() { echo "net_af_packet0,iface=$1,blocksz=65536,framesz=8192,framecnt=2048,qpairs=1"; }

# ------------------------------------------------------------------ who starts anew

daemons ""
programs "before a restart"
roced_stop B
check "B starts again" roced_launch B
programs "after a restart"
stop_daemons

# ------------------------------------------------------------------ what does not fit

psk "$tmp_dir/B.psk" ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100
daemons ""
cm_refused() {
	spawn_in B 30 "$tmp_dir/server.log" rping -s -a "$B4" -C 1
	spawn_in A 30 "$tmp_dir/client.log" rping -c -a "$B4" -C 1
	! wait "$spawned_pid"
}
check "another key: no connection" cm_refused
told() {
	grep -h 'protection with' "$tmp_dir/roced-A.log" "$tmp_dir/roced-B.log"
	grep -q "protection with $B4: .*key" "$tmp_dir/roced-A.log" && grep -q "protection with $A4: .*key" "$tmp_dir/roced-B.log"
}
check "another key: both say so" told
check "another key: nothing went plain" [ "$(counter A 'drop no_sa')" -gt 0 ]
stop_daemons

fabric_stop
finish
