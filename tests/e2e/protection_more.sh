#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Protection between daemons beyond the usual: keys changed on demand and by use, policies by device and for IPv6, "optional", services
# that are not reliable, a device of two ports, and the ciphers of DPDK's crypto devices.
#
# usage: tests/e2e/protection_more.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/protect.sh"

need ss ib_write_bw ib_send_bw rping rdma_xserver ibv_uc_pingpong ibv_ud_pingpong tshark python3
wire_direct 4300
psk "$tmp_dir/A.psk" "$KEY"
psk "$tmp_dir/B.psk" "$KEY"
required6='{ network = "fd77::/64"; policy = "required"; }'
optional4='{ network = "10.77.0.0/24"; policy = "optional"; }'

# pingpong NAME TOOL options...
pingpong() {
	local name=$1 tool=$2
	shift 2
	pair "$name" 20 B "$tool -d roced0 $*" A "$tool -d roced0 $* $SIDE_B"
}
rping_to() { cm_pair "$1" 20 "rping -s -a $2 -V -C 50 -S 4000" "rping -c -a $2 -V -C 50 -S 4000"; }

# ------------------------------------------------------------------ keys on demand

both_protected "" "$required4"
check "nobody is protected yet" told A sas "d['associations'] == 0 and d['peer'] == []"
rping_to "rping" "$B4"
check "rocectl sas tells of the peer" told A sas "d['peer'] == ['$B4'] and d['local'] == ['$A4'] and d['device'] == ['roced0'] and
	d['state'] == ['established'] and d['suite'] == ['aes-256-gcm'] and d['method'] == ['psk'] and d['tx_packets'][0] > 50 and
	d['rx_packets'][0] > 50 and d['tx_spi'][0] != d['rx_spi'][0]"
spis() { rocectl "$1" sas --json | python3 -c 'import json, sys; d = json.load(sys.stdin)["/roced/protection"]; print(d["tx_spi"], d["rx_spi"])'; }
same_spis() {
	local tx rx
	read -r tx rx < <(spis A)
	echo "$tx $rx"
	told B sas "d['peer'] == ['$A4'] and d['state'] == ['established'] and d['rx_spi'] == $tx and d['tx_spi'] == $rx"
}
check "and the peer of us, with the same SPIs" same_spis
sas_is_a_table() {
	rocectl A sas | tee "$tmp_dir/table"
	grep -qE "^$B4 +established +aes-256-gcm +psk +0/0 " "$tmp_dir/table" && ! grep -qi "$KEY" "$tmp_dir/table" "$tmp_dir/told.json"
}
check "a row a peer, and no key" sas_is_a_table
rekey_while_running() {
	local client server i
	spawn_in B 30 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 4 -q 4
	server=$spawned_pid
	wait_for 5 tcp_listens B 18515
	spawn_in A 30 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 4 -q 4 "$SIDE_B"
	client=$spawned_pid
	for i in 1 2 3; do
		sleep 1
		rocectl A rekey "$B4" || return 1
	done
	wait "$client" "$server" || return 1
	told A sas "d['tx_epoch'][0] >= 3 and d['rx_epoch'][0] >= 3 and d['rekeys'][0] >= 3"
}
check "keys are changed on demand while data flows" rekey_while_running
check "in both daemons" told B sas "d['tx_epoch'][0] >= 3 and d['rx_epoch'][0] >= 3"
check "and nothing is refused" nothing_refused
exits() {
	local want=$1 rc
	shift
	"$@" && rc=0 || rc=$?
	[ $rc -eq "$want" ]
}
check "rekey all" exits 0 rocectl B rekey all
check "rekey of a stranger: status 1" exits 1 rocectl A rekey 10.99.0.1
check "rekey of no address: status 2" exits 2 rocectl A rekey 10.99.0.256
check "rekey of nobody: status 2" exits 2 rocectl A rekey
check "no alarms: status 0" exits 0 rocectl A alarms
stop_daemons

both_protected "rekey_mbytes = 20;" "$required4"
# What was sent is looked at five times a second: seconds, not messages, or a fast machine is done before the third look.
perftest "changes by use: ib_write_bw" 30 ib_write_bw $V4 -D 3
check "changes by use: keys were changed again and again" told A sas "d['tx_bytes'][0] > 200e6 and d['tx_epoch'][0] >= 3"
check "changes by use: nothing is refused" nothing_refused
stop_daemons

# ------------------------------------------------------------------ IPv6, and what is not reliable

both_protected "" "$required4, $required6"
watch_wire 14
rping_to "IPv6: rping" "$B6"
perftest "IPv6: ib_send_bw" 20 ib_send_bw $V6 -n 500
verify "IPv6: every byte" 60 $V6 4096 -q 4 -s 262144
perftest "UC: ib_write_bw" 20 ib_write_bw $V6 -c UC -n 300
pingpong "UC: ibv_uc_pingpong" ibv_uc_pingpong -g $V6 -n 200 -c
pingpong "UD: ibv_ud_pingpong" ibv_ud_pingpong -g $V6 -n 200 -c
wait "$tshark_pid"
check "IPv6, UC, UD: no RoCE packet is plain" only_protected
check "IPv6, UC, UD: nothing was refused" nothing_refused
stop_daemons

# ------------------------------------------------------------------ programs of librdmacm

# rdma_xserver listens on all addresses; the one that is called is protected.
both_protected "" "$required4"
watch_wire 8
cm_pair "librdmacm: rdma_xserver and rdma_xclient, RC" 20 "rdma_xserver -c r" "rdma_xclient -s $B4 -c r"
cm_pair "librdmacm: rdma_xserver and rdma_xclient, XRC" 20 "rdma_xserver -c x" "rdma_xclient -s $B4 -c x"
cm_pair "librdmacm: ucmatose" 20 "ucmatose -b $B4 -c 4 -C 20 -S 4000" "ucmatose -s $B4 -c 4 -C 20 -S 4000"
cm_pair "librdmacm: udaddy" 20 "udaddy -b $B4 -c 4 -C 20" "udaddy -s $B4 -c 4 -C 20"
wait "$tshark_pid"
check "librdmacm: no RoCE packet is plain" only_protected
check "librdmacm: nothing was refused" nothing_refused
stop_daemons

# ------------------------------------------------------------------ optional

both_protected "" "$optional4"
rping_to "optional: rping" "$B4"
pingpong "optional: ibv_ud_pingpong" ibv_ud_pingpong -g $V4 -n 200 -c
pingpong "optional: ibv_uc_pingpong" ibv_uc_pingpong -g $V4 -n 200 -c
verify "optional: every byte" 60 $V4 4096 -q 4 -s 262144
check "optional: it is protected by then" told A sas "d['state'] == ['established'] and d['tx_packets'][0] > 500"
check "optional: nothing was refused" nothing_refused
roced_stop B
roced_start B "$(af_packet_device port)" 4096 4300 "$B4/24" "$B6/64" || finish
goes_plain() { run_in A timeout 5 rping -c -a "$B4" -V -C 5; }
plain_in_time() {
	local rc=0
	spawn_in B 70 "$tmp_dir/server.log" rping -s -P -a "$B4" -V
	wait_for 60 goes_plain || rc=1
	end_pid "$spawned_pid"
	forget_pid "$spawned_pid"
	return $rc
}
check "optional: with a peer that knows nothing of it any more, once its silence was noticed" plain_in_time
check "optional: which is an alarm" told A alarms "'no_answer' in d['alarm'] and d['subject'][d['alarm'].index('no_answer')] == '$B4'"
stop_daemons

both_protected "" "$required4"
roced_stop B
roced_start B "$(af_packet_device port)" 4096 4300 "$B4/24" "$B6/64" || finish
refused() {
	spawn_in B 8 "$tmp_dir/server.log" rping -s -a "$B4" -C 1
	! run_in A timeout 8 rping -c -a "$B4" -C 1
}
check "required: with a peer that knows nothing of it there is no connection" refused
check "required: and nothing went plain" [ "$(counter A 'drop no_sa')" -gt 0 ]
stop_daemons

# ------------------------------------------------------------------ by device

two_devices=", { name = \"roced1\"; port = \"p0\"; addresses = [ \"10.79.0.%d/24\" ]; mtu = 4096; mac = \"02:00:00:00:79:0%d\"; }"
for n in A B; do
	[ $n = A ] && i=1 || i=2
	# shellcheck disable=SC2059
	MORE_DEVICES=$(printf "$two_devices" $i $i) protected $n "psk_file = \"$tmp_dir/$n.psk\";" \
		'{ network = "10.0.0.0/8"; policy = "required"; devices = [ "roced0" ]; }'
done
watch_wire 8
rping_to "by device: the one that is protected" "$B4"
rping_to "by device: the one that is not" 10.79.0.2
wait "$tshark_pid"
check "by device: one is protected" [ "$(on_wire "udp.dstport == 1000 && ip.addr == $B4")" -gt 50 ]
check "by device: never plain" [ "$(on_wire "udp.dstport == 4791 && ip.addr == $B4")" -eq 0 ]
check "by device: the other one is plain" [ "$(on_wire "udp.dstport == 4791 && ip.addr == 10.79.0.2")" -gt 50 ]
check "by device: nothing was refused" nothing_refused
stop_daemons

# ------------------------------------------------------------------ two ports

veth A port2 B port2 4300
second_port=", { name = \"p1\"; device = \"net_af_packet1,iface=port2,blocksz=65536,framesz=8192,framecnt=2048,qpairs=1\"; mtu = 4300; }"
both_ports='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; }, { port = "p1"; queue = 0; } ); }'
for n in A B; do
	[ $n = A ] && i=1 || i=2
	DEVICE_KEYS="planes = ( { port = \"p1\"; addresses = [ \"10.78.0.$i/24\" ]; } );" MORE_PORTS=$second_port WORKERS=$both_ports \
		protected $n "psk_file = \"$tmp_dir/$n.psk\";" "$required4, { network = \"10.78.0.0/24\"; policy = \"required\"; }" \
		'multipath = { peers = [ "10.77.0.0/24" ]; };'
done
perftest "two ports: ib_write_bw" 30 ib_write_bw $V4 -D 4 -q 2
verify "two ports: every byte" 60 $V4 4096 -q 4 -s 262144
check "two ports: both pairs of addresses have keys and are used" told A sas "sorted(d['peer']) == ['$B4', '10.78.0.2'] and
	d['state'] == ['established'] * 2 and min(d['tx_packets']) > 100"
check "two ports: nothing was refused" nothing_refused
stop_daemons

# ------------------------------------------------------------------ DPDK's crypto devices

for device in crypto_aesni_gcm0 crypto_aesni_mb0 crypto_openssl0; do
	WORKERS="{ lcore = 1; cpus = \"0-1\"; crypto = \"$device\"; }" both_protected "" "$required4"
	perftest "$device: ib_write_bw" 30 ib_write_bw $V4 -n 500
	verify "$device: every byte" 60 $V4 4096 -q 4 -s 65536
	check "$device: what it knows was agreed on" told A sas "d['suite'] == ['aes-256-gcm'] and d['rx_packets'][0] > 500"
	check "$device: nothing was refused" nothing_refused
	stop_daemons
done

# refuses TEXT WORKERS KEYS [PEERS]: the daemon does not start, and says so
refuses() {
	WORKERS=$2 MORE="protection = { psk_file = \"$tmp_dir/A.psk\"; $3 peers = ( ${4:-$required4} ); };" \
		roced_config roced-A "$(af_packet_device port)" 4096 4300 "$A4/24" >"$tmp_dir/roced-A.conf"
	! in_ns A timeout 20 "$roced_bin" -c "$tmp_dir/roced-A.conf" -f >"$tmp_dir/refused.log" 2>&1
	grep "$1" "$tmp_dir/refused.log" || { cat "$tmp_dir/refused.log"; return 1; }
}
check "a crypto device that is not there" refuses 'workers\[\].crypto: nothing0: there is no crypto device of that name' \
	'{ lcore = 1; cpus = "0-1"; crypto = "nothing0"; }' ""
check "a suite that the crypto device does not know" refuses "crypto device (workers\[\].crypto) has no sm4-gcm" \
	'{ lcore = 1; cpus = "0-1"; crypto = "crypto_aesni_gcm0"; }' 'suites = [ "sm4-gcm" ];'

check "a peer whose key is not there" refuses 'protection.peers\[0\].psk_id: .*A.psk has no line with the ID "nobody"' "" "" \
	'{ network = "10.77.0.0/24"; psk_id = "nobody"; }'

# ------------------------------------------------------------------ memory that may not be locked

# (a port of af_packet would need locked memory itself)
roced_config roced-A net_tap0,iface=dtap0 1024 1500 "$A4/24" >"$tmp_dir/roced-A.conf"
echo "protection = { psk_file = \"$tmp_dir/A.psk\"; peers = ( $required4 ); };" >>"$tmp_dir/roced-A.conf"
says_not_locked() {
	in_ns A timeout -s TERM 3 prlimit --memlock=0:0 setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock \
		"$roced_bin" -c "$tmp_dir/roced-A.conf" -f >"$tmp_dir/locked.log" 2>&1
	cat "$tmp_dir/locked.log"
	grep -q "may be swapped out: let roced lock memory" "$tmp_dir/locked.log" && grep -q "roced: ready" "$tmp_dir/locked.log"
}
if ldd "$roced_bin" | grep -q libasan; then
	skip "keys that may be swapped out are told of" "AddressSanitizer answers mlock() itself"
else
	check "keys that may be swapped out are told of" says_not_locked
fi

finish
