#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons joined by a veth pair, of two workers each: multicast groups by Debian's mckey, unmodified; what
# routers and switches hear of it, as another program reads it.
#
# usage: tests/e2e/multicast.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

G4=239.77.1.5 G6=ff15::77:5

need mckey tshark
export WORKERS='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; } ); }, { lcore = 2; cpus = "0-1"; }'
wire_direct 4200
roced_start A "$(af_packet_device port | sed s/qpairs=1/qpairs=2/)" 1024 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port | sed s/qpairs=1/qpairs=2/)" 1024 4200 "$B4/24" "$B6/64" || finish

ip netns exec "$(ns B)" tshark -i port -f 'ip proto 2 or ip6' -a duration:60 -w "$tmp_dir/joins.pcap" \
	>"$tmp_dir/tshark.log" 2>&1 &
tshark_pid=$!
pids+=("$tshark_pid")
wait_for 10 grep -q 'Capturing' "$tmp_dir/tshark.log"

cm_pair "mckey IPv4" 20 "mckey -m $G4 -b $B4 -C 10 -S 500" "mckey -m $G4 -b $A4 -C 10 -S 500 -s"
cm_pair "mckey IPv6" 20 "mckey -m $G6 -b $B6 -C 10 -S 1000" "mckey -m $G6 -b $A6 -C 10 -S 1000 -s"
cm_pair "mckey, 4 connections" 20 "mckey -m $G4 -b $B4 -c 4 -C 5" "mckey -m $G4 -b $A4 -c 4 -C 5 -s"
pair "mckey, both at one daemon, at different workers" 20 B "mckey -m $G4 -b $B4 -C 10" B "mckey -m $G4 -b $B4 -C 10 -s"

sleep 1 # what is captured takes a moment to the file
kill -INT "$tshark_pid"
wait "$tshark_pid"
forget_pid "$tshark_pid"

# heard FILTER: a frame of A with right checksums that tshark takes for this; what B sends bypasses its taps
heard() {
	local n
	n=$(tshark -r "$tmp_dir/joins.pcap" -o ip.check_checksum:TRUE \
		-Y "$1 && !(ip.checksum.status == 0) && !_ws.malformed" 2>/dev/null | wc -l)
	echo "$n frames match $1"
	[ "$n" -gt 0 ]
}

check "IGMPv3 join, RFC 3376 4.2.12" heard \
	"igmp.type == 0x22 && igmp.record_type == 4 && igmp.maddr == $G4 && ip.dst == 224.0.0.22 && ip.ttl == 1 && igmp.checksum.status == 1"
check "IGMPv3 leave" heard "igmp.type == 0x22 && igmp.record_type == 3 && igmp.maddr == $G4"
check "MLDv2 join, RFC 3810 5.2.12" heard \
	"icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 4 && icmpv6.mldr.mar.multicast_address == $G6 && ipv6.dst == ff02::16 && ipv6.hlim == 1 && icmpv6.checksum.status == 1"
check "MLDv2 leave" heard "icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 3 && ipv6.src == fe80::/10"

roced_stop A
roced_stop B
finish
