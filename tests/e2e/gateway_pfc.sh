#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Pauses at a gateway's ports: a host's PFC holds up the priority it names at that host's port, and neither other
# priorities nor other ports; what is held up is not lost, or counted where it is more than the queue takes; a host that
# never lets go is a storm. The fabric's pauses hold up tunnels in the same way.
#
# usage: tests/e2e/gateway_pfc.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/gateway.sh"

talk=$repo_dir/tests/tools/gateway_talk.py
pause=$repo_dir/tests/tools/pause.py
gen_bin=${GEN_BIN:-$build_dir/app/roce-gen/roce-gen}
BULK=2 TRAINING=$((26 << 2 | 2)) # of DSCP 0 and 26: priorities 0 and 3
LONG=20 # s: longer than what is looked at meanwhile takes; pauses are ended by hand

need python3 ping
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
[ -x "$gen_bin" ] || skip_all "no $gen_bin"
wire_gateways 4400
wire_hosts 1500
kernel_hosts 1500
GATEWAY_HOSTS="host khost" HOST_MTU=1500
PATIENT='reorder_us = 300000; silence_us = 300000;'
gateway_fabric "host_mbps = 1000; leaf_mbps = 400; buffer_bytes = 4194304; convergence_us = 100000000;" || finish

# gateways PFC-KEYS [CHANNEL-KEYS]: the room for hosts' frames is the training channel's
gateways() {
	local n channels="channels = ( { name = \"bulk\"; },
		{ name = \"training\"; dscp = [ 26 ]; priority = 3; ${2:-} } ); pfc = { $1 };"
	for n in GA GB; do
		HOST_KEYS="pfc = [ 0, 3 ]; rate_mbps = 1000;" PORT_KEYS="pfc = [ 0, 3 ]; rate_mbps = 1000;" \
			gateway_start $n "$PATIENT" "$channels" || finish
	done
}
exactly() { local n; n=$(counter "$1" "$2"); echo "$1: $2 $n"; [ "$n" -eq "$3" ]; }
no_drops() {
	counter "$1" sacks_sent >/dev/null
	! grep -E 'worker [0-9]+: drop [a-z_]+ [1-9]' "$tmp_dir/roced-$1.log"
}

# channel_at NS PORT CHANNEL COUNTER: as the daemon there tells it now
channel_at() {
	counter "$1" sacks_sent >/dev/null
	tac "$tmp_dir/roced-$1.log" | grep -m 1 "port \"$2\" channel \"$3\"" | grep -o "\b$4 [0-9]*" | awk '{print $2}'
}

# hear NS INTERFACE: from now on, in $tmp_dir/heard-NS-INTERFACE
heard_pids=()
hear() {
	ip netns exec "$(ns "$1")" timeout 300 python3 "$talk" hear "$2" 290 \
		>"$tmp_dir/heard-$1-$2" 2>"$tmp_dir/heard-$1-$2.err" &
	heard_pids+=("$!")
	pids+=("$!")
	wait_for 10 grep -q listening "$tmp_dir/heard-$1-$2.err"
}
# say NS INTERFACE SRC DST TRAFFIC-CLASS FIRST-PSN COUNT [BYTES]
say() { in_ns "$1" python3 "$talk" send "$2" "$3" "$4" tos="$5" psn="$6" count="$7" bytes="${8:-64}" opcode=0x24; }
# psns NS INTERFACE TRAFFIC-CLASS FIRST LAST: those it has heard of these, in the order in which they came
psns() {
	awk -v t="$3" -v f="$4" -v l="$5" '$1 == t && $4 >= f && $4 <= l {print $4}' "$tmp_dir/heard-$1-$2" |
		tr '\n' ' '
}
comes() {
	wait_for 10 eval "[ \"\$(psns $1 $2 $3 $4 $5)\" = \"\$(seq -s ' ' $4 $5) \" ]"
	psns "$@"
	[ "$(psns "$@")" = "$(seq -s ' ' "$4" "$5") " ]
}
nothing_of() { psns "$@"; [ -z "$(psns "$@")" ]; }

# pauses NS INTERFACE PRIORITY DAEMON PORT: until let_go; the daemon there has heard of it
pauses() {
	local before
	before=$(channel_at "$4" "$5" training pauses)
	ip netns exec "$(ns "$1")" python3 "$pause" "$2" "$3" 65535 $LONG &
	pause_pid=$!
	pids+=("$pause_pid")
	wait_for 10 eval "[ \$(channel_at $4 $5 training pauses) -gt $before ]"
}
let_go() { end_pid "$pause_pid"; forget_pid "$pause_pid"; }

# ------------------------------------------------------------------ a host's pauses

gateways "detect_ms = 0;" "queue_kbytes = 512;"
# the other host of GB says where it is
say B port $B4 $K4A $BULK 0 1
in_ns B ping -c 1 -W 2 $K4A >/dev/null
hear A kern
hear B kern
hear B port
say A kern $K4A $K4B $TRAINING 1 5
check "a packet arrives" comes B kern $TRAINING 1 5

pauses B kern 3 GB khost
say A kern $K4A $K4B $TRAINING 100 20
say A kern $K4A $K4B $BULK 100 20
check "a host that pauses a priority gets the others" comes B kern $BULK 100 119
check "and nothing of that one" nothing_of B kern $TRAINING 100 119
say A kern $K4A $B4 $TRAINING 200 20
check "the other host gets it" comes B port $TRAINING 200 219
say B kern $K4B $K4A $TRAINING 300 20
check "and the host's own goes into its tunnel" comes A kern $TRAINING 300 319
let_go
check "what waited comes when the pause is over, in its order" comes B kern $TRAINING 100 119
check "the gateway was paused at that port and priority" \
	[ "$(channel_at GB khost training pauses)" -gt 0 -a "$(channel_at GB khost training paused_ns)" -gt 0 ]
elsewhere() {
	local n
	n=$(($(channel_at GB khost bulk pauses) + $(channel_at GB host training pauses)))
	n=$((n + $(channel_at GB p0 training pauses)))
	echo "pauses elsewhere: $n"
	[ $n -eq 0 ]
}
check "and nowhere else" elsewhere
check "and dropped nothing" eval 'no_drops GB && no_drops GA'

# ------------------------------------------------------------------ more than it may hold

pauses B kern 3 GB khost
say A kern $K4A $K4B $TRAINING 1000 600 1400
say A kern $K4A $K4B $BULK 1000 20
check "beside a queue that is full others go on" comes B kern $BULK 1000 1019
let_go
bounded() {
	local lost came
	wait_for 5 eval '[ -n "$(psns B kern $TRAINING 1000 1599)" ]'
	sleep 0.5
	lost=$(counter GB "drop channel_full")
	psns B kern $TRAINING 1000 1599 | tr ' ' '\n' | grep . >"$tmp_dir/came"
	came=$(wc -l <"$tmp_dir/came")
	echo "of 600 came $came, dropped and counted $lost; in order: $(sort -nc "$tmp_dir/came" 2>&1 && echo yes)"
	[ "$lost" -gt 0 ] && [ $((came + lost)) -eq 600 ] && sort -nc "$tmp_dir/came" && [ "$came" -gt 100 ]
}
check "more than the queue takes is dropped and counted, what it took comes in its order" bounded
say A kern $K4A $K4B $TRAINING 3000 5
check "and it goes on afterwards" comes B kern $TRAINING 3000 3004

# ------------------------------------------------------------------ the fabric's pauses

pauses F a 3 GA p0
say A kern $K4A $K4B $TRAINING 4000 20
say A kern $K4A $K4B $BULK 4000 20
check "a fabric that pauses a priority gets tunnels of the others" comes B kern $BULK 4000 4019
check "and none of that one" nothing_of B kern $TRAINING 4000 4019
say B kern $K4B $K4A $TRAINING 4100 5
check "which the other way goes on" comes A kern $TRAINING 4100 4104
let_go
check "what waited comes when the pause is over" comes B kern $TRAINING 4000 4019
check "and the gateway dropped nothing" no_drops GA
roced_stop GA
roced_stop GB

# ------------------------------------------------------------------ a storm

gateways "detect_ms = 200; restore_ms = 200;"
say B port $B4 $K4A $BULK 0 1
in_ns B ping -c 1 -W 2 $K4A >/dev/null
cat >"$tmp_dir/storm.conf" <<-END
	eal = { args = [ "--no-huge", "-m", "200" ]; };
	run_path = "$tmp_dir/storm";
	role = "tx";
	duration_ms = $((LONG * 1000));
	ports = ( { name = "kern"; device = "net_af_packet0,iface=kern,blocksz=65536,framesz=2048,framecnt=512"; } );
	flows = ( { name = "pauses"; opcodes = [ "PFC" ]; pfc_priorities = [ 3 ]; pfc_quanta = 65535;
		rate_pps = 200; } );
END
storms() {
	ip netns exec "$(ns B)" "$gen_bin" "$tmp_dir/storm.conf" >"$tmp_dir/storm.log" 2>&1 &
	pause_pid=$!
	pids+=("$pause_pid")
	wait_for 10 eval '[ "$(channel_at GB khost training pauses)" -gt 5 ]'
}
storms || fail "roce-gen pauses the gateway" "$tmp_dir/storm.log"
say A kern $K4A $K4B $TRAINING 5000 10
stormed() {
	wait_for 10 eval '[ "$(channel_at GB khost training storms)" -eq 1 ]'
	channel_at GB khost training storms
	[ "$(channel_at GB khost training storms)" -eq 1 ]
}
check "a host that never lets go is found" stormed
given_up() {
	say A kern $K4A $K4B $TRAINING 5100 10
	sleep 0.5
	nothing_of B kern $TRAINING 5000 5109 && exactly GB "drop pfc_storm" 20
}
check "what is for its priority is dropped and counted" given_up
say A kern $K4A $K4B $BULK 5000 20
check "its other priorities go on" comes B kern $BULK 5000 5019
say A kern $K4A $B4 $TRAINING 5200 20
check "so does the other host" comes B port $TRAINING 5200 5219
let_go
sleep 1
say A kern $K4A $K4B $TRAINING 5300 20
check "all goes on when it is over" comes B kern $TRAINING 5300 5319
check "and no more was dropped" exactly GB "drop pfc_storm" 20
roced_stop GA
roced_stop GB
fabric_stop
finish
