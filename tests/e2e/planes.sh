#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A device with two ports: connections use both, go on when either is cut and return to it; a peer with one port is
# served by one.
#
# usage: tests/e2e/planes.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2

need ss ib_write_bw ib_read_bw rping python3
wire_direct 4200
veth A port2 B port2 4200

second_port=", { name = \"p1\"; device = \"net_af_packet1,iface=port2,blocksz=65536,framesz=8192,framecnt=2048,qpairs=1\"; mtu = 4200; }"
both_ports='{ lcore = 1; cpus = "0-1"; rx = ( { port = "p0"; queue = 0; }, { port = "p1"; queue = 0; } ); }'
listed="multipath = { peers = [ \"10.77.0.0/24\", \"fd77::/64\" ]; };"

# two_ports NS LAST-NUMBER ADDRESS...
two_ports() {
	local where=$1 last=$2
	shift 2
	DEVICE_KEYS="planes = ( { port = \"p1\"; addresses = [ \"10.78.0.$last/24\", \"fd78::$last/64\" ]; } );" \
		MORE_PORTS=$second_port WORKERS=$both_ports MORE=${MORE:-} \
		roced_start "$where" "$(af_packet_device port)" 4096 4200 "$@"
}

arrived() { in_ns "$1" cat "/sys/class/net/$2/statistics/rx_packets"; }

# shares NAME CASE...: both ports of B receive at least a tenth of what comes while it runs
shares() {
	local name=$1 one two
	shift
	wanted "$name" || return 0
	one=$(arrived B port) two=$(arrived B port2)
	"$@"
	one=$(($(arrived B port) - one)) two=$(($(arrived B port2) - two))
	check "$name: both ports carry their share" shared_well $one $two
}
shared_well() {
	echo "port $1, port2 $2 packets"
	[ $((10 * $1)) -ge $(($1 + $2)) ] && [ $((10 * $2)) -ge $(($1 + $2)) ]
}

# ------------------------------------------------------------------ two ports at both ends

two_ports A 1 "$A4/24" "$A6/64" && MORE=$listed two_ports B 2 "$B4/24" "$B6/64" || finish
shares "ib_write_bw -R" pair "ib_write_bw -R" 20 \
	B "ib_write_bw -d roced0 -F -R -n 1000" A "ib_write_bw -d roced0 -F -R -n 1000 $B4"
cm_pair "rping, data checked" 20 "rping -s -a $B4 -V -C 50 -S 60000" "rping -c -a $B4 -V -C 50 -S 60000"
cm_pair "rping IPv6, data checked" 20 "rping -s -a $B6 -V -C 50 -S 4000" "rping -c -a $B6 -V -C 50 -S 4000"
pair "ib_read_bw -R" 20 B "ib_read_bw -d roced0 -F -R -n 200" A "ib_read_bw -d roced0 -F -R -n 200 $B4"
roced_stop A
MORE=$listed two_ports A 1 "$A4/24" "$A6/64" || finish
shares "listed peers" perftest "ib_write_bw, listed peers" 20 ib_write_bw $V4 -n 1000
verify "listed peers, 4 QPs, every byte" 60 $V4 4096 -q 4 -s 1048579
verify "listed peers, IPv6, every byte" 60 $V6 1024 -q 2 -s 262144

# ------------------------------------------------------------------ one is cut while data flows

# cut_and_back INTERFACE: the run goes on, and what is cut is used again
cut_and_back() {
	local client rc before
	spawn_in B 25 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 6
	server_settles B ib_write_bw
	spawn_in A 25 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 6 $SIDE_B
	client=$spawned_pid
	sleep 1.5
	ip -n "$(ns B)" link set dev "$1" down
	sleep 1.5
	kill -0 "$client" || return 1
	ip -n "$(ns B)" link set dev "$1" up
	sleep 2
	before=$(arrived B "$1")
	sleep 0.5
	echo "packets in half a second after it came back: $(($(arrived B "$1") - before))"
	[ "$(arrived B "$1")" -gt $((before + 50)) ] || return 1
	wait "$client"
	rc=$?
	cat "$tmp_dir/client.log" "$tmp_dir/client.log.err"
	return $rc
}
check "the second port is cut and comes back" cut_and_back port2
check "the first port is cut and comes back" cut_and_back port
verify "afterwards: every byte" 30 $V4 4096 -q 2 -s 262144

# ------------------------------------------------------------------ who asks for a connection at the wrong port

# mad INTERFACE FROM TO: a request of a connection manager to B, sent in A
mad() {
	in_ns A python3 - "$repo_dir/tests/tools" "$1" "$(in_ns B cat "/sys/class/net/$1/address")" "$2" "$3" <<-'END'
		import random, socket, struct, sys
		sys.path.insert(0, sys.argv[1])
		from hostile_net import bth, packet
		interface, mac, src, dst = sys.argv[2:]
		deth = struct.pack("!II", 0x80010000, 1)
		request = struct.pack("!BBBBHHQHHI", 1, 7, 2, 3, 0, 0, 1, 0x10, 0, 0)
		body = bth(0x64, 1, 0, ack_req=0) + deth + request.ljust(256, b"\0")
		ip = packet(socket.inet_aton(src), socket.inet_aton(dst), body, random.Random(1))
		s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		s.bind((interface, 0))
		s.send(bytes.fromhex(mac.replace(":", "")) + b"\2bad12" + b"\x08\0" + ip)
	END
}
refused_at_plane() {
	local taken dropped
	taken=$(counter B mads_received) dropped=$(counter B not_ours)
	mad port2 10.78.0.9 10.78.0.2 || return 1
	sleep 0.3
	echo "at the plane: taken $(($(counter B mads_received) - taken)), dropped $(($(counter B not_ours) - dropped))"
	[ "$(counter B mads_received)" -eq "$taken" ] && [ "$(counter B not_ours)" -gt "$dropped" ] || return 1
	mad port 10.77.0.9 $B4 || return 1
	sleep 0.3
	echo "at the device's own port: taken $(($(counter B mads_received) - taken))"
	[ "$(counter B mads_received)" -eq $((taken + 1)) ]
}
check "a connection asked for at a plane's address is none" refused_at_plane

# ------------------------------------------------------------------ both have two, and are to use one

# What either end says of the other counts for both.
roced_stop A
MORE="multipath = { peers = ( { network = \"10.77.0.0/24\"; planes = 1; }, { network = \"fd77::/64\"; planes = 1; without_cm = false; } ); };" \
	two_ports A 1 "$A4/24" "$A6/64" || finish
quiet_before=$(arrived B port2)
cm_pair "one port towards that network: rping, data checked" 20 "rping -s -a $B4 -V -C 50 -S 60000" "rping -c -a $B4 -V -C 50 -S 60000"
pair "one port, asked by the other end: rping IPv6, data checked" 20 \
	A "rping -s -a $A6 -V -C 50 -S 60000" B "rping -c -a $A6 -V -C 50 -S 60000"
check "nothing comes by the second port" [ $(($(arrived B port2) - quiet_before)) -lt 20 ]

# ------------------------------------------------------------------ a peer with one port

roced_stop B
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish
quiet_before=$(arrived B port2)
cm_pair "a peer with one port: rping, data checked" 20 "rping -s -a $B4 -V -C 50 -S 60000" "rping -c -a $B4 -V -C 50 -S 60000"
pair "a peer with one port: ib_read_bw -R" 20 \
	B "ib_read_bw -d roced0 -F -R -n 200" A "ib_read_bw -d roced0 -F -R -n 200 $B4"
check "and nothing comes to where it has none" [ $(($(arrived B port2) - quiet_before)) -lt 20 ]
roced_stop A
roced_stop B
finish
