#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Gateways that notify for their hosts: what a notification looks like and when there is one, what is never taken for a
# known queue pair, and senders that slow down for it. First by packets made by hand, with which the kernels of A and of
# B have nothing to do; then between daemons.
#
# usage: tests/e2e/gateway_cnp.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"

talk=$repo_dir/tests/tools/gateway_talk.py
frames=$repo_dir/tests/tools/gateway_frames.py
CE=3 ECT1=1
V4=1
CAPABLE=$((26 << 2 | 2)) # DSCP 26, ECT(0)

need ss ib_write_bw ib_read_bw python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_gateways 4400
wire_hosts 4200
kernel_hosts 1500
GATEWAY_HOSTS="host khost"
PATIENT='reorder_us = 300000; silence_us = 300000;'
gateway_fabric "host_mbps = 1000; leaf_mbps = 100; buffer_bytes = 8388608; convergence_us = 100000000;
	ecn_min_bytes = 50000; ecn_max_bytes = 200000;" || finish
psk "$tmp_dir/psk" "$KEY"

gateways() {
	gateway_start GA "$PATIENT $1" "${2:-}" || finish
	gateway_start GB "$PATIENT $1" "${2:-}" || finish
	gateways_meet
	in_ns B ping -c 1 -W 2 $K4A >/dev/null
}
stop_gateways() {
	roced_stop GA
	roced_stop GB
}
exactly() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -eq "$3" ]; }
at_least() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -ge "$3" ]; }

# ------------------------------------------------------------------ by hand

# hear: A's queue pairs 17 and 18 are connected with B's 33 and 34; what arrives stands in $tmp_dir/heard-A and -B
hear() {
	local n pairs
	heard_pids=()
	for n in A B; do
		[ $n = A ] && pairs="17=33 18=34" || pairs="33=17 34=18"
		# shellcheck disable=SC2086
		ip netns exec "$(ns $n)" timeout 300 python3 "$talk" hear kern 290 $pairs \
			>"$tmp_dir/heard-$n" 2>"$tmp_dir/heard-$n.err" &
		heard_pids+=("$!")
		pids+=("$!")
		wait_for 10 grep -q listening "$tmp_dir/heard-$n.err"
	done
}
stop_hearing() {
	local p
	for p in "${heard_pids[@]}"; do end_pid "$p"; forget_pid "$p"; done
}

# says KEY=VALUE...: A sends B, and sees that all came; came FIELDS: of what B heard since, one line each
says() {
	local before
	before=$(wc -l <"$tmp_dir/heard-B")
	in_ns A python3 "$talk" send kern "${FROM:-$K4A}" "${TO:-$K4B}" "$@"
	wait_for 5 eval "[ \$(wc -l <'$tmp_dir/heard-B') -ge $((before + ${COUNT:-1})) ]"
	sleep 0.3 # for what comes back
	tail -n "+$((before + 1))" "$tmp_dir/heard-B" >"$tmp_dir/came"
	cut -c1-60 "$tmp_dir/came"
}
# came_with TRAFFIC-CLASS: all of the last ones, and so many
came_with() {
	echo "of ${COUNT:-1} with $1: $(awk -v t="$1" '$1 == t' "$tmp_dir/came" | wc -l)"
	[ "$(awk -v t="$1" '$1 == t' "$tmp_dir/came" | wc -l)" -eq "${COUNT:-1}" ]
}
# notified N [QP]: A has heard so many notifications ever
notified() {
	grep -c ' 0x81 ' "$tmp_dir/heard-A"
	[ "$(awk -v q="${2:-}" '$2 == "0x81" && (q == "" || $3 == q)' "$tmp_dir/heard-A" | wc -l)" -eq "$1" ]
}

gateways ""
hear
COUNT=4 says qp=33 count=4 >/dev/null
marks_go_on() { says qp=33 tos=$CE psn=100 && came_with $CE && notified 0 && exactly GB cnps_sent 0; }
check "without being told to, a gateway lets marks pass" marks_go_on
stop_hearing
stop_gateways

# an interval that no run is longer than: a second notification within it is an error
gateways "cnp_proxy = true; cnp_interval_us = 8000000;"
hear
unknown() {
	COUNT=2 says qp=33 tos=$CE psn=50 count=2 && COUNT=2 came_with $CE && notified 0 && exactly GB cnps_unknown 2
}
check "a mark goes on while it is not known who sends" unknown
COUNT=6 says qp=33 psn=100 count=6 >/dev/null
first() { says qp=33 tos=$CE psn=200 && came_with 2 && notified 1 17; }
check "one for whom it is makes a notification and goes on without its mark" first
like_a_cnp() {
	grep ' 0x81 ' "$tmp_dir/heard-A"
	grep -q "^192 0x81 17 0 40 ok $K4B 00000000000000000000000000000000\$" "$tmp_dir/heard-A"
}
check "it is from the receiver, for the sender's queue pair: BECN, 16 bytes reserved, ICRC, DSCP 48" like_a_cnp
again() {
	COUNT=5 says qp=33 tos=$CE psn=201 count=5 && COUNT=5 came_with 2 && notified 1 && exactly GB cnps_held_back 5
}
check "no second one within the interval, and no mark either" again
other() {
	COUNT=6 says qp=34 psn=9000 count=6 >/dev/null
	says qp=34 tos=$CE psn=9006 && came_with 2 && notified 1 18
}
check "another queue pair is another flow" other
later() { sleep 8.1; says qp=33 tos=$CE psn=300 && notified 2 17; }
check "after the interval there is one more" later
ours() { exactly GB cnps_sent 3 && exactly GA cnps_sent 0; }
check "all of them by the gateway at which the marks came out" ours
not_marked() { sleep 8.1; says qp=33 tos=$ECT1 psn=301 && came_with $ECT1 && notified 2 17; }
check "what has no mark is as it was" not_marked
not_ours() {
	says qp=33 opcode=0x64 tos=$CE psn=302 && came_with $CE &&
		says qp=33 opcode=0x81 becn=1 tos=$CE && came_with $CE && notified 2 17
}
check "datagrams and notifications are none that are answered" not_ours
check "nor what has no place for a queue pair" \
	eval 'in_ns A python3 "$frames" roce kern $K4A $K4B bytes=4 tos=3 >/dev/null; notified 2 17'
strangers() {
	in_ns F python3 "$frames" tunnels b $GA4 $GB4 "$(in_ns GB cat /sys/class/net/fab/address)" >/dev/null
	sleep 0.3
	at_least GB "drop tunnel" 100 && notified 2 17
}
check "nor what strangers say that a tunnel holds" strangers
stop_hearing
hear
in_step() {
	local i
	# two queue pairs with the same PSNs, whose acknowledgements come when both have been asked; those that were
	# known were so more than a second ago
	sleep 1.1
	for i in 1 2 3 4 5 6; do
		in_ns A python3 "$talk" send kern $K4A $K4B qp=35 psn=$((500 + i))
		in_ns A python3 "$talk" send kern $K4A $K4B qp=36 psn=$((500 + i))
		in_ns B python3 "$talk" send kern $K4B $K4A qp=20 opcode=0x11 psn=$((500 + i))
	done
	says qp=35 tos=$CE psn=600 && came_with $CE && says qp=36 tos=$CE psn=600 && came_with $CE
}
check "of two queue pairs that could both be meant none is" in_step
rocectl_tells() {
	"$build_dir/app/rocectl/rocectl" gateway --socket "$(telemetry_socket GB)" >"$tmp_dir/told" || return 1
	grep cnps "$tmp_dir/told"
	grep -qE "cnps_sent +3( |$)" "$tmp_dir/told" && grep -qE "cnps_held_back +5( |$)" "$tmp_dir/told"
}
check "telemetry and rocectl tell" rocectl_tells
by_v6() {
	in_ns B ping -6 -c 1 -W 2 $K6A >/dev/null
	FROM=$K6A TO=$K6B COUNT=6 says qp=33 psn=700 count=6 >/dev/null
	FROM=$K6A TO=$K6B says qp=33 tos=$CE psn=800 && came_with 2 &&
		grep -q "^192 0x81 17 0 40 ok $K6B 0*\$" "$tmp_dir/heard-A"
}
check "also by IPv6" by_v6
stop_hearing
stop_gateways

# ------------------------------------------------------------------ hosts that know nothing of it

# One path for all, so that the fabric marks. Hosts follow notifications, and would send some themselves for a mark.
dcqcn="dcqcn = { cut_period_ns = 50000; alpha_period_ns = 1000000; increase_timer_ns = 10000000;
	increase_bytes = 4000000; add_mbps = 2; hyper_mbps = 2; };"
marking_hosts() {
	local n addr
	for n in A B; do
		[ $n = A ] && addr=$A4 || addr=$B4
		MORE="multipath = { negotiate = false; plain = { scheduler = \"ecmp\"; evs = 1; };
				move_on_timeout = false; };
			congestion = { follow_cnps = true; rate_mbps = 1000; }; $dcqcn" \
			roced_start $n "$(af_packet_device port)" 4096 4200 "$addr/24" || finish
	done
}
# notified_by GATEWAY SENDER RECEIVER: the sender heard of marks by the gateway, and the receiver of none that came when
# that knew them
notified_by() {
	echo "$1: sent $(counter "$1" cnps_sent), held back $(counter "$1" cnps_held_back)," \
		"unknown $(counter "$1" cnps_unknown);" \
		"$2 got $(counter "$2" cnps_received); $3 saw $(counter "$3" marked) marks"
	[ "$(counter "$1" cnps_sent)" -gt 0 ] && [ "$(counter "$2" cnps_received)" -gt 0 ] &&
		[ "$(counter "$3" marked)" -le "$(counter "$1" cnps_unknown)" ] &&
		[ "$(counter "$1" cnps_held_back)" -gt 0 ]
}

for kind in plain protected; do
	groups=
	[ $kind = plain ] || groups="protection = { psk_file = \"$tmp_dir/psk\";
		peers = ( { network = \"10.99.0.0/24\"; policy = \"required\"; } ); };"
	GATEWAY_PATHS=1 gateways "cnp_proxy = true; cnp_interval_us = 1000;" "$groups"
	marking_hosts
	perftest "$kind: ib_write_bw" 60 ib_write_bw $V4 -D 4 -q 4 -t 16 -u 18 --tclass $CAPABLE
	check "$kind: the writer heard of marks by the far gateway" notified_by GB A B
	perftest "$kind: ib_read_bw" 60 ib_read_bw $V4 -D 4 -q 4 -u 18 --tclass $CAPABLE
	check "$kind: and who answers a READ by the reader's" notified_by GA B A
	verify "$kind: every byte" 60 $V4 4096 -q 2 -s 65537
	roced_stop A
	roced_stop B
	stop_gateways
done
fabric_stop
finish
