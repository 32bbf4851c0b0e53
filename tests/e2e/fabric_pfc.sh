#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PFC through the fabric: a switch whose buffer fills with one priority pauses the fabric's ports, roce-fabric the daemon, and
# the daemon that channel alone; nothing of it is lost on the way.
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
for n in A B; do
	[ $n = A ] && addr=$A4 || addr=$B4
	DEVICE_KEYS="multipath = false;" PORT_KEYS="pfc = [ 0, 3 ]; rate_mbps = 1000;" MORE=$channels roced_start $n "$(af_packet_device port)" 4096 4200 "$addr/24" ||
		finish
done

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
finish
