#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PFC through the fabric: a switch whose buffer fills with one priority pauses the fabric's ports, roce-fabric the daemon, and
# the daemon that channel alone; nothing of it is lost on the way. And the other way round: a daemon with a long receive queue
# pauses its switch.
#
# usage: tests/e2e/fabric_pfc.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"

V4=1
TRAINING=$((26 << 2)) # DSCP 26: priority 3

need ss ib_write_bw python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_fabric 4200
# 100 Mb/s in the middle, and switches that hold no more than 300 KB. The daemon sends at the speed of its link: what it had
# put into the veth pair at once, a pause would come too late for.
fabric_config "host_mbps = 1000; leaf_mbps = 100; buffer_bytes = 300000; ecn_max_bytes = 0; ecn_min_bytes = 0;
	pfc_priorities = 8; pfc_xoff_bytes = 60000; pfc_xon_bytes = 30000" "trust_dscp = true;" |
	sed 's/mbufs = 4096;/mbufs = 4096; queue_bytes = 2000000;/' >"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish
channels='channels = ( { name = "bulk"; }, { name = "training"; dscp = [ 26 ]; priority = 3; } ); pfc = { detect_ms = 0; };'
# daemons 'PORT_KEYS of B'
daemons() {
	local n addr more
	for n in A B; do
		[ $n = A ] && addr=$A4 more="" || addr=$B4 more=$1
		DEVICE_KEYS="multipath = false;" PORT_KEYS="pfc = [ 0, 3 ]; rate_mbps = 1000; $more" MORE=$channels \
			roced_start $n "$(af_packet_device port)" 4096 4200 "$addr/24" || finish
	done
}
daemons ""

perftest "eight queue pairs of one lossless priority" 40 ib_write_bw $V4 -D 4 -q 8 -t 16 -u 18 --tclass $TRAINING
check "nothing was lost in the fabric" fabric_is "sum(s['lost'].values()) == 0"

check "nor dropped at a port" fabric_is "sum(p['dropped']['queue'] + p['dropped']['buffers'] for p in s['ports']) == 0"
check "the daemon was asked to pause" fabric_is "s['ports'][0]['pauses_sent'] > 0"
check "and did so with that channel" [ "$(channel training pauses)" -gt 0 ]
check "for some time" [ "$(channel training paused_ns)" -gt 1000000 ]
check "but not with the other" [ "$(channel bulk pauses)" -eq 0 ]
roced_stop A
roced_stop B
fabric_stop

# ------------------------------------------------------------------ the daemon's own receive queue

# The way is as fast as the host's link; a daemon that is held up for a moment has a long queue afterwards.
fabric_config "host_mbps = 1000; leaf_mbps = 1000; buffer_bytes = 4000000; ecn_max_bytes = 0; ecn_min_bytes = 0;
	pfc_priorities = 8; pfc_xoff_bytes = 60000; pfc_xon_bytes = 30000" "trust_dscp = true;" |
	sed 's/mbufs = 4096;/mbufs = 4096; queue_bytes = 2000000;/' >"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish
daemons "pfc_send = [ 3 ]; rx_descriptors = 128;"

hold_up_b() {
	local i
	for i in 1 2 3 4 5 6; do
		sleep 0.5
		kill -STOP "$roced_pid_B"
		sleep 0.03
		kill -CONT "$roced_pid_B"
	done
}
hold_up_b &
holding=$!
perftest "eight queue pairs to a daemon that is held up" 40 ib_write_bw $V4 -D 4 -q 8 -t 16 -u 18 --tclass $TRAINING
wait $holding
check "it asked its switch to pause, and to go on" [ "$(counter B xoff_sent)" -gt 0 -a "$(counter B xon_sent)" -gt 0 ]
check "the switch heard of it" fabric_is "s['ports'][2]['pauses'] > 0"
check "nothing was lost on the way" fabric_is "sum(s['lost'].values()) + sum(p['dropped']['queue'] + p['dropped']['buffers'] for p in s['ports']) == 0"
check "nor sent again" [ "$(counter A retransmits)" -eq 0 ]
roced_stop A
roced_stop B
fabric_stop
finish
