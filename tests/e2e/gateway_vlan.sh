#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A gateway on a stick: its one port leads to a switch, where the fabric is untagged and hosts are in two VLANs. Their
# RoCE goes into tunnels and out of them as from ports of their own, the rest over the bridge, from one VLAN to the
# other as well; and a tag that a host makes is no way into a VLAN.
#
# usage: tests/e2e/gateway_vlan.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2016,SC2086,SC2317
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"

talk=$repo_dir/tests/tools/gateway_talk.py

need ss ib_write_bw ib_read_bw python3 tshark ping
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"

# Of B the daemon is in VLAN 101 and the kernel in VLAN 100; the switch in S takes the tags off.
make_ns GA GB F S A B
veth GA fab F a 4400
veth F b S up 4400
veth GB fab S gw 4400
veth A port GA host 4200
veth A kern GA khost 1500
veth B port S h101 4200
veth B kern S h100 1500
side_channel
kernel_addresses
ip netns exec "$(ns S)" python3 "$repo_dir/tests/tools/vlan_switch.py" gw up 100=h100 101=h101 \
	>"$tmp_dir/switch.log" 2>&1 &
pids+=("$!")
wait_for 10 grep -q ready "$tmp_dir/switch.log" || { fail "the switch starts" "$tmp_dir/switch.log"; finish; }
PATIENT='reorder_us = 300000; silence_us = 300000;'
gateway_fabric "host_mbps = 1000; leaf_mbps = 400; buffer_bytes = 4194304; convergence_us = 100000000;" || finish

exactly() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -eq "$3" ]; }
at_least() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -ge "$3" ]; }
# gateways KEYS-OF-GA KEYS-OF-GB [GROUPS]
gateways() {
	GATEWAY_HOSTS="host khost" gateway_start GA "$PATIENT $1" "${3:-}" || finish
	GATEWAY_HOSTS=" " gateway_start GB "$PATIENT host_vlans = [ 100, 101 ]; $2" "${3:-}" || finish
	[ -n "${GATEWAY_REMOTES:-}" ] || gateways_meet
}
mac_of() { in_ns "$1" cat "/sys/class/net/$2/address"; }
# hear NS: what comes to its kernel host, in $tmp_dir/heard-NS
hear() {
	ip netns exec "$(ns "$1")" timeout 300 python3 "$talk" hear kern 290 \
		>"$tmp_dir/heard-$1" 2>"$tmp_dir/heard-$1.err" &
	pids+=("$!")
	wait_for 10 grep -q listening "$tmp_dir/heard-$1.err"
}
# say NS SRC DST FIRST-PSN COUNT [KEY=VALUE...]
say() { in_ns "$1" python3 "$talk" send kern "$2" "$3" psn="$4" count="$5" opcode=0x24 "${@:6}"; }
# comes NS FIRST LAST: all of these PSNs, in their order and with the right ICRC
comes() {
	wait_for 10 eval "[ \$(awk '\$4 >= $2 && \$4 <= $3' '$tmp_dir/heard-$1' | wc -l) -ge $(($3 - $2 + 1)) ]"
	awk -v f="$2" -v l="$3" '$4 >= f && $4 <= l && $6 == "ok" {print $4}' "$tmp_dir/heard-$1" | tr '\n' ' ' |
		tee "$tmp_dir/psns"
	[ "$(cat "$tmp_dir/psns")" = "$(seq -s ' ' "$2" "$3") " ]
}

# ------------------------------------------------------------------ hosts by the kernel

gateways "" ""
hear A
hear B
# GB has heard of nobody yet
say A $K4A $K4B 1 5
check "a host that nobody has seen is asked for in its VLAN" comes B 1 5
check "by a question" at_least GB hosts_asked 1
check "the kernels ping each other through the bridge" in_ns A ping -c 3 -i 0.3 -W 2 $K4B
check "the other way, too" in_ns B ping -c 3 -i 0.3 -W 2 $K4A
check "also by IPv6" in_ns A ping -6 -c 3 -i 0.3 -W 2 $K6B
ip netns exec "$(ns S)" timeout 60 tshark -i gw -a duration:4 -w "$tmp_dir/gw.pcapng" \
	>"$tmp_dir/tshark.log" 2>&1 &
tshark_pid=$!
pids+=("$tshark_pid")
wait_for 20 grep -q "Capturing on" "$tmp_dir/tshark.log"
say A $K4A $K4B 100 50
check "RoCE comes to a host in a VLAN" comes B 100 149
say B $K4B $K4A 200 50
check "and from there" comes A 200 249
# nobody's, with a priority; and a frame as short as they are
in_ns B python3 "$repo_dir/tests/tools/gateway_frames.py" roce kern $K4B 10.9.9.9 vlan=$((5 << 13)) count=3 >/dev/null
ip -n "$(ns B)" neigh flush dev kern
in_ns B ping -c 1 -W 2 $K4A >/dev/null
wait "$tshark_pid"
forget_pid "$tshark_pid"
seen() { tshark -r "$tmp_dir/gw.pcapng" -Y "$1" 2>/dev/null | wc -l; }
tags() {
	local tunnels="udp.dstport >= $GATEWAY_PORT && udp.dstport < $((GATEWAY_PORT + 64))" n
	local roce="udp.dstport == 4791 && !icmp && !(ip.dst == 10.9.9.9)"
	n="$(seen "vlan.id == 100 && $roce") $(seen "!(vlan.id == 100) && $roce")"
	n="$n $(seen "vlan && $tunnels") $(seen "!vlan && $tunnels")"
	echo "RoCE in VLAN 100, elsewhere; tunnels tagged, untagged: $n"
	[ "${n% *}" = "100 0 0" ] && [ "${n##* }" -ge 100 ]
}
priority() {
	local to="udp && ip.dst == 10.9.9.9" n
	n="$(seen "vlan.id == 101 && vlan.priority == 5 && $to") $(seen "!vlan && $to") $(seen "$to")"
	echo "in VLAN 101 with priority 5, untagged, all: $n"
	[ "$n" = "3 3 9" ]
}
padded() {
	local of
	of="!vlan && arp && eth.src == $(mac_of B kern)"
	echo "untagged $(seen "$of"), too short $(seen "$of && frame.len < 60")"
	[ "$(seen "$of")" -gt 0 ] && [ "$(seen "$of && frame.len < 60")" -eq 0 ]
}
check "on the stick hosts' packets are in their VLAN and tunnels are untagged" tags
check "what is bridged keeps its priority in another VLAN" priority
check "and is long enough without a tag" padded
check "the tunnel carried all of it" eval 'exactly GB delivered 55 && exactly GB tunnelled 50'

# ------------------------------------------------------------------ daemons, and between VLANs

hosts
perftest "ib_write_bw to a host in a VLAN" 40 ib_write_bw $V4 -n 300 -q 4
perftest "ib_read_bw" 40 ib_read_bw $V4 -n 300
verify "every byte" 60 $V4 4096 -q 2 -s 65537
ip -n "$(ns B)" route add $B4/32 dev kern
check "a host in one VLAN reaches one in the other over the bridge" in_ns B ping -c 3 -i 0.3 -W 2 -I kern $B4
lost_nothing() {
	exactly GB late 0 && exactly GB not_held 0 &&
		! grep -E 'worker [0-9]+: drop [a-z_]+ [1-9]' "$tmp_dir/roced-GB.log"
}
check "and the gateway dropped nothing" lost_nothing
roced_stop A
roced_stop B
roced_stop GA
roced_stop GB

# ------------------------------------------------------------------ tags that hosts make

# A's hosts have ports, and VLAN 200 of the fabric's port is others'; a packet to nobody's network goes over the bridge
gateways "host_vlans = [ 200 ];" ""
hops() {
	say A $K4A 10.9.9.9 1 5 vlan=200
	sleep 0.3
	exactly GA "drop not_ours" 5
}
check "a host's tag is no way into a VLAN of others" hops
say A $K4A 10.9.9.9 1 5 vlan=202
in_ns B ping -c 1 -W 2 $K4A >/dev/null
say A $K4A $K4B 300 5
check "and RoCE goes on" comes B 300 304
check "another tag is none of theirs" exactly GA "drop not_ours" 5
roced_stop GA
roced_stop GB

# ------------------------------------------------------------------ without a bridge, and with protection

# What leaves for hosts is plain, even where their addresses are among those of protected peers.
psk "$tmp_dir/psk" "$KEY"
peers=
for net in 10.99.0.0/24 fd99::/64 10.78.0.0/24; do
	peers="$peers${peers:+, }{ network = \"$net\"; policy = \"required\"; }"
done
gateways "" "bridge = false;" "protection = { psk_file = \"$tmp_dir/psk\"; peers = ( $peers ); };"
check "without a bridge kernels do not reach each other" eval '! in_ns A ping -c 2 -i 0.3 -W 1 $K4B'
# until there are keys
reaches() { say A $K4A $K4B 390 1 && sleep 0.2 && grep -q ' 390 ' "$tmp_dir/heard-B"; }
wait_for 30 reaches
say A $K4A $K4B 400 5
check "but RoCE does, protected on its way" comes B 400 404
say B $K4B $K4A 410 5
check "and the other way" comes A 410 414
roced_stop GA
roced_stop GB

# ------------------------------------------------------------------ without a far gateway

# GA is a bridge only
GATEWAY_REMOTES="( )" gateways "" "direct = [ \"$K4A/32\" ];"
in_ns B ping -c 1 -W 2 $K4A >/dev/null
say B $K4B $K4A 500 20 dmac="$(mac_of A kern)"
check "a host in a VLAN reaches one without a gateway" comes A 500 519
say A $K4A $K4B 600 20 dmac="$(mac_of B kern)"
check "and is reached" comes B 600 619
check "what it sends is counted as sent, what comes is not" exactly GB direct 20
roced_stop GA
roced_stop GB
fabric_stop
finish
