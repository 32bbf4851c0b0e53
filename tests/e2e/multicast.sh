#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons joined by a veth pair, of two workers each: multicast groups by Debian's mckey, unmodified; what
# routers and switches hear of it, as another program reads it.
#
# usage: tests/e2e/multicast.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

G4=239.77.1.5 G6=ff15::77:5
tshark_A='' tshark_B=''

need mckey tshark python3
export WORKERS='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; } ); }, { lcore = 2; cpus = "0-1"; }'
wire_direct 4200
roced_start A "$(af_packet_device port | sed s/qpairs=1/qpairs=2/)" 1024 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port | sed s/qpairs=1/qpairs=2/)" 1024 4200 "$B4/24" "$B6/64" || finish

# What a daemon sends bypasses its own interface's taps, so each is heard at the other end.
listen_in() {
	ip netns exec "$(ns "$1")" tshark -i port -f 'ip proto 2 or ip6' -a duration:90 -w "$tmp_dir/joins-$1.pcap" \
		>"$tmp_dir/tshark-$1.log" 2>&1 &
	eval "tshark_$1=$!"
	pids+=("$!")
	wait_for 10 grep -q 'Capturing' "$tmp_dir/tshark-$1.log"
}
listen_in A
listen_in B

cm_pair "mckey IPv4" 20 "mckey -m $G4 -b $B4 -C 10 -S 500" "mckey -m $G4 -b $A4 -C 10 -S 500 -s"
cm_pair "mckey IPv6" 20 "mckey -m $G6 -b $B6 -C 10 -S 1000" "mckey -m $G6 -b $A6 -C 10 -S 1000 -s"
cm_pair "mckey, 4 connections" 20 "mckey -m $G4 -b $B4 -c 4 -C 5" "mckey -m $G4 -b $A4 -c 4 -C 5 -s"
pair "mckey, both at one daemon, at different workers" 20 B "mckey -m $G4 -b $B4 -C 10" B "mckey -m $G4 -b $B4 -C 10 -s"

# A router on A's side asks for listeners while one waits in B: general queries of both families.
ask() {
	in_ns A python3 - <<-'END'
		import socket
		import struct

		def csum(data):
		    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
		    while total >> 16:
		        total = (total & 0xffff) + (total >> 16)
		    return struct.pack("!H", ~total & 0xffff)

		source = bytes.fromhex("02000000aa01")
		igmp = bytes([0x11, 100]) + bytes(6) + bytes([2, 125, 0, 0])
		igmp = igmp[:2] + csum(igmp) + igmp[4:]
		ip = struct.pack("!BBHHHBBH4s4s4s", 0x46, 0xc0, 36, 0, 0, 1, 2, 0, bytes([10, 77, 0, 9]),
		                 bytes([224, 0, 0, 1]), b"\x94\x04\0\0")
		ip = ip[:10] + csum(ip) + ip[12:]
		link = socket.inet_pton(socket.AF_INET6, "fe80::aa")
		nodes = socket.inet_pton(socket.AF_INET6, "ff02::1")
		mld = struct.pack("!BBHHH", 130, 0, 0, 1000, 0) + bytes(16) + bytes([0, 125, 0, 0])
		mld = mld[:2] + csum(link + nodes + struct.pack("!II", len(mld), 58) + mld) + mld[4:]
		ip6 = struct.pack("!IHBB", 6 << 28, 8 + len(mld), 0, 1) + link + nodes + bytes([58, 0, 5, 2, 0, 0, 1, 0])
		wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		wire.bind(("port", 0))
		wire.send(bytes.fromhex("01005e000001") + source + b"\x08\x00" + ip + igmp)
		wire.send(bytes.fromhex("333300000001") + source + b"\x86\xdd" + ip6 + mld)
	END
}
spawn_in B 20 "$tmp_dir/waits4.log" mckey -m $G4 -b $B4 -C 1
waits4=$spawned_pid
spawn_in B 20 "$tmp_dir/waits6.log" mckey -m $G6 -b $B6 -C 1
waits6=$spawned_pid
sleep 3 # behind the reports of joining
check "queries are sent" ask
sleep 2.5
for pid in "$waits4" "$waits6" "$tshark_A" "$tshark_B"; do
	kill -TERM "$pid"
	wait "$pid"
	forget_pid "$pid"
done

# heard NS FILTER: a frame with right checksums that tshark takes for this
heard() {
	local n
	n=$(tshark -r "$tmp_dir/joins-$1.pcap" -o ip.check_checksum:TRUE \
		-Y "$2 && !(ip.checksum.status == 0) && !_ws.malformed" 2>/dev/null | wc -l)
	echo "$n frames match $2"
	[ "$n" -gt 0 ]
}

check "IGMPv3 join, RFC 3376 4.2.12" heard B \
	"igmp.type == 0x22 && igmp.record_type == 4 && igmp.maddr == $G4 && ip.dst == 224.0.0.22 && ip.ttl == 1 && igmp.checksum.status == 1"
check "IGMPv3 leave" heard B "igmp.type == 0x22 && igmp.record_type == 3 && igmp.maddr == $G4"
check "MLDv2 join, RFC 3810 5.2.12" heard B \
	"icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 4 && icmpv6.mldr.mar.multicast_address == $G6 && ipv6.dst == ff02::16 && ipv6.hlim == 1 && icmpv6.checksum.status == 1"
check "MLDv2 leave" heard B "icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 3 && ipv6.src == fe80::/10"
check "IGMPv3 answer to a query" heard A "igmp.type == 0x22 && igmp.record_type == 2 && igmp.maddr == $G4 && ip.src == $B4"
check "MLDv2 answer to a query" heard A \
	"icmpv6.type == 143 && icmpv6.mldr.mar.record_type == 2 && icmpv6.mldr.mar.multicast_address == $G6"

roced_stop A
roced_stop B
finish
