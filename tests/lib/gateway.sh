# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Two gateways with a fabric of four paths between them; a suite sources this file after common.sh and fabric.sh.
#
# Topology: the hosts are in the namespaces A and B. Behind each is its gateway, in GA and GB: interface `host` to the
# host, `fab` to the fabric, which runs in F. Where kernel_hosts was called, GA and GB have one more host, the kernel of
# A and of B.

GA4=10.99.0.1 GB4=10.99.0.2
GA6=fd99::1 GB6=fd99::2
GATEWAY_PORT=4794

# wire_gateways MTU-OF-FABRIC
wire_gateways() {
	make_ns GA GB F
	veth GA fab F a "$1"
	veth GB fab F b "$1"
}

# wire_hosts MTU: the hosts are daemons
wire_hosts() {
	make_ns A B
	veth A port GA host "$1"
	veth B port GB host "$1"
	side_channel
}

# kernel_hosts MTU
kernel_hosts() {
	local n
	for n in A B; do
		veth "$n" kern "G$n" khost "$1"
	done
	kernel_addresses
}

# hosts: daemons in A and B that use one path, as hardware does
hosts() {
	local MORE='multipath = { negotiate = false; plain = { scheduler = "ecmp"; evs = 1; };
		move_on_timeout = false; };'
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
	roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish
}

# gateway_fabric FABRIC-KEYS [MORE]: two leaves with a gateway each, four spines
gateway_fabric() {
	cat >"$tmp_dir/fabric.conf" <<-END
		eal = { args = [ "--no-huge", "-m", "256" ]; };
		control = { socket = "$tmp_dir/fabric.sock"; };
		fabric = { leaves = 2; spines = 4; hosts_per_leaf = 1; $1 };
		${2:-}
		ports = ( { name = "a"; host = 0; mtu = 4400; mbufs = 4096;
		            device = "net_af_packet0,iface=a,blocksz=65536,framesz=8192,framecnt=2048"; },
		          { name = "b"; host = 1; mtu = 4400; mbufs = 4096;
		            device = "net_af_packet1,iface=b,blocksz=65536,framesz=8192,framecnt=2048"; } );
	END
	fabric_start "$tmp_dir/fabric.conf"
}

# gateway_device NUMBER INTERFACE: a packet socket for each worker
gateway_device() {
	echo "net_af_packet$1,iface=$2,blocksz=65536,framesz=8192,framecnt=2048,qpairs=${GATEWAY_QUEUES:-1}"
}

# host_port NUMBER INTERFACE MTU: an entry of the list of ports; one whose name has "tap" in it is made by the daemon;
# HOST_KEYS: more of it
host_port() {
	case $2 in
	*tap*) echo ", { name = \"$2\"; device = \"net_tap$1,iface=$2\"; mtu = 1500; ${HOST_KEYS:-} }" ;;
	*) echo ", { name = \"$2\"; device = \"$(gateway_device "$1" "$2")\"; mtu = $3; ${HOST_KEYS:-} }" ;;
	esac
}

# gateway_start GA|GB GATEWAY-KEYS [GROUPS]: with the hosts' ports in GATEWAY_HOSTS; HOST_MTU and FABRIC_MTU are those
# of the wires, GATEWAY_WORKERS the list of workers and GATEWAY_QUEUES their number, GATEWAY_PATHS that of paths;
# GATEWAY_V6: tunnels over IPv6; GATEWAY_REMOTES: instead of the list with the other one
gateway_start() {
	local own="$GA4/24" own6="$GA6/64" far=$GB4 h names= ports= i=0
	local net="\"$B4/32\", \"$B6/128\", \"$K4B/32\", \"$K6B/128\""
	if [ "$1" != GA ]; then
		own="$GB4/24" own6="$GB6/64" far=$GA4
		net="\"$A4/32\", \"$A6/128\", \"$K4A/32\", \"$K6A/128\""
	fi
	[ -z "${GATEWAY_V6:-}" ] || { [ "$1" = GA ] && far=$GB6 || far=$GA6; }
	local remotes="( { address = \"$far\"; networks = [ $net ]; } )"
	for h in ${GATEWAY_HOSTS:-host}; do
		names="$names${names:+, }\"$h\""
		i=$((i + 1))
		ports="$ports$(host_port $i "$h" "${HOST_MTU:-4200}")"
	done
	MORE_PORTS="$ports" CONTROL_KEYS='telemetry = true;' \
		MORE="gateway = { device = \"roced0\"; host_ports = [ $names ]; paths = ${GATEWAY_PATHS:-16}; $2
			remotes = ${GATEWAY_REMOTES:-$remotes}; }; ${3:-}" \
		WORKERS="${GATEWAY_WORKERS:-"{ lcore = 1; cpus = \"0-1\"; }"}" \
		roced_start "$1" "$(gateway_device 0 fab)" 1024 "${FABRIC_MTU:-4400}" "$own" "$own6"
}

# port_count NS PORT rx|tx: frames that the daemon there has counted since it began
port_count() {
	counter "$1" sacks_sent >/dev/null
	tac "$tmp_dir/roced-$1.log" | grep -m 1 "port \"$2\": [a-z]* rx" | grep -o " $3 [0-9]*" | awk '{print $2}'
}

# wires_lost: packets that left a daemon and did not come to the next one: packet sockets of a busy machine do that. All
# of them have begun with the gateways.
wires_lost() {
	local n
	n=$(($(port_count A p0 tx) - $(port_count GA host rx) + $(port_count B p0 tx) - $(port_count GB host rx)))
	n=$((n + $(port_count GA host tx) - $(port_count A p0 rx) + $(port_count GB host tx) - $(port_count B p0 rx)))
	echo $((n + $(counter GA lost) + $(counter GB lost)))
}

# in_order: no host got a packet before its turn, but where a wire lost one
in_order() {
	local lost early
	lost=$(wires_lost)
	early=$(($(counter B "drop out_of_order") + $(counter A "drop out_of_order")))
	echo "before their turn: $early; NAKs of B $(counter B seq_naks_sent)," \
		"retransmits of A $(counter A retransmits); lost by wires $lost"
	[ "$lost" -gt 0 ] || { [ $early -eq 0 ] && [ "$(counter A retransmits)" -eq 0 ]; }
}

# A question that came before the far gateway did is asked again after a second.
gateways_have_ways() {
	local n
	for n in GA GB; do
		counter $n sacks_sent >/dev/null
		tac "$tmp_dir/roced-$n.log" | grep -m 1 "far gateway" | grep -q ": reachable" || return 1
	done
}
# gateways_meet: waits until GA and GB know how to reach each other
gateways_meet() {
	wait_for 10 gateways_have_ways && return
	fail "the gateways find each other" "$tmp_dir/roced-GA.log"
	finish
}
