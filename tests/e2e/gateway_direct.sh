#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A gateway at one end only: host A behind it, host B at the fabric itself, four paths between them. RoCE from A takes
# all of them by its UDP source port alone; a path that is slow gets less, one that is cut none, and B sees everything
# in order.
#
# usage: tests/e2e/gateway_direct.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2016,SC2086,SC2317
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../lib/protect.sh"
. "$(dirname "$0")/../lib/gateway.sh"
V4=1 V6=2

gen_bin=${GEN_BIN:-$build_dir/app/roce-gen/roce-gen}
rocectl_bin=$build_dir/app/rocectl/rocectl

need ss ib_write_bw ib_write_lat ib_read_lat ib_send_bw python3 tshark
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
[ -x "$gen_bin" ] || skip_all "no $gen_bin"

make_ns A GA F B
veth GA fab F a 4400
veth A port GA host 4200
veth B port F b 4400
side_channel

# direct_start KEYS [GROUPS]: the gateway, with hosts at `host` and B in a direct network; DIRECT_MORE: others
direct_start() {
	MORE_PORTS="$(host_port 1 host 4200)" CONTROL_KEYS='telemetry = true;' \
		MORE="gateway = { device = \"roced0\"; host_ports = [ \"host\" ]; paths = 32;
			direct = [ \"$B4/32\", \"$B6/128\"${DIRECT_MORE:-} ]; $1 }; ${2:-}" \
		WORKERS="${GATEWAY_WORKERS:-"{ lcore = 1; cpus = \"0-1\"; }"}" roced_start GA \
		"$(gateway_device 0 fab)" 1024 4400 "$GA4/24" "$GA6/64" || finish
}

# wires_lost: packets that left one daemon and did not come to the next; packet sockets of a busy machine do that. All
# of them have begun with the gateway.
wires_lost() {
	echo $((($(port_count A p0 tx) - $(port_count GA host rx)) + ($(port_count GA p0 tx) - $(port_count B p0 rx)) +
		($(port_count B p0 tx) - $(port_count GA p0 rx)) + ($(port_count GA host tx) - $(port_count A p0 rx))))
}

spread() { # PACKETS
	echo "packets of each path: $(fabric_value "*[p['up']['packets'] for p in s['spines']]")"
	[ "$(spines_used "$1")" -eq 4 ]
}

gateway_fabric "host_mbps = 2000; leaf_mbps = 1000; buffer_bytes = 8388608;
	ecn_min_bytes = 1000000; ecn_max_bytes = 2000000; convergence_us = 100000000;" || finish

# ------------------------------------------------------------------ what a host's packet is when it arrives

af_packet() { echo "net_af_packet$1,iface=$2,blocksz=65536,framesz=8192,framecnt=2048"; }
gen_config() { # NAME KEYS PORT-KEYS FLOWS
	cat >"$tmp_dir/$1.conf" <<-END
		eal = { args = [ "--no-huge", "-m", "256" ]; };
		run_path = "$tmp_dir/$1";
		$2
		ports = ( { name = "p"; mtu = 4200; device = "$(af_packet 0 port)"; $3 } );
		flows = ( $4 );
	END
}
watch() { # NS INTERFACE: until unwatch, to $tmp_dir/NS.pcap
	ip netns exec "$(ns "$1")" timeout 120 tshark -F pcap -i "$2" -f "udp port 4791" -w "$tmp_dir/$1.pcap" \
		>"$tmp_dir/tshark-$1.log" 2>&1 &
	watchers+=("$!")
	pids+=("$!")
	wait_for 20 grep -q "Capturing on" "$tmp_dir/tshark-$1.log"
}
unwatch() {
	local p
	sleep 0.5
	for p in "${watchers[@]}"; do end_pid "$p"; forget_pid "$p"; done
}
watchers=()
# same_but_for_port: each frame that came to B is one that A sent, but for source port and ICRC; the ICRCs are right
same_but_for_port() {
	python3 - "$tmp_dir/GA.pcap" "$tmp_dir/B.pcap" <<-'END' || return 1
		import collections, struct, sys
		def frames(path):
		    data, at = open(path, "rb").read(), 24
		    while at < len(data):
		        n = struct.unpack_from("<I", data, at + 8)[0]
		        yield data[at + 16:at + 16 + n]
		        at += 16 + n
		def bare(f):  # without the source port and the ICRC
		    udp = 14 + (20 if f[12:14] == b"\x08\x00" else 40)
		    return f[:udp] + f[udp + 2:-4]
		sent = collections.Counter(bare(f) for f in frames(sys.argv[1]))
		came = list(frames(sys.argv[2]))
		strange = [f for f in came if bare(f) not in sent]
		ports = {f[34:36] for f in came if f[12:14] == b"\x08\x00"}
		print(f"{sum(sent.values())} sent, {len(came)} came, {len(strange)} of them others,",
		      f"by {len(ports)} source ports")
		sys.exit(not (len(came) > 1000 and not strange and len(ports) > 8))
	END
	"$rocectl_bin" decode "$tmp_dir/B.pcap" >"$tmp_dir/B.txt"
	echo "ICRCs that are right: $(grep -c 'icrc=ok' "$tmp_dir/B.txt") of $(wc -l <"$tmp_dir/B.txt")"
	[ "$(grep -c 'icrc=ok' "$tmp_dir/B.txt")" -eq "$(wc -l <"$tmp_dir/B.txt")" ]
}
result() { python3 -c "import json; r = json.load(open('$tmp_dir/results.json')); print($1)"; }
generate() {
	local sink rc=0
	rm -f "$tmp_dir/results.json"
	ip netns exec "$(ns B)" "$gen_bin" "$tmp_dir/sink.conf" --json --results "$tmp_dir/results.json" \
		>"$tmp_dir/sink.log" 2>&1 &
	sink=$!
	pids+=("$sink")
	wait_for 60 grep -q 'roce-gen: ready' "$tmp_dir/sink.log" || return 1
	timeout 120 ip netns exec "$(ns A)" "$gen_bin" "$tmp_dir/send.conf" --json --results "$tmp_dir/sent.json" \
		>"$tmp_dir/send.log" 2>&1 || rc=1
	sleep 0.5
	kill -INT "$sink"
	wait "$sink" || rc=2
	forget_pid "$sink"
	return $rc
}
# in_their_order: nothing came before what was sent before it, nothing twice, nothing damaged
in_their_order() {
	local f
	for f in v4 v6 datagrams; do
		result "'$f', *(r['rx']['$f'][k] for k in ('packets', 'psn', 'number', 'bad_icrc'))"
	done
	[ "$(result "all(f[by][k] == 0 for f in r['rx'].values() for by in ('psn', 'number')
			for k in ('reordered', 'duplicates', 'jumps', 'restarts')) \
		and all(f['bad_icrc'] == 0 and f['packets'] > 400 for f in r['rx'].values())")" = True ]
}

# a machine that is busy with other things lets packets wait at the fabric's door, where those of a later flowlet catch
# up with them
direct_start 'flowlet_us = 100000;'
mac_of() { in_ns "$1" cat "/sys/class/net/$2/address"; }
flows() { # MORE: of each flow
	local all="qps = 4; rate_pps = 80; burst = 16; $1"
	echo "{ name = \"v4\"; src = \"$A4\"; dst = \"$B4\"; first_qpn = 100; mtu = 1024;
			sizes = ( { bytes = 4096; } ); $all },
		{ name = \"v6\"; src = \"$A6\"; dst = \"$B6\"; first_qpn = 200; opcodes = [ \"RC_SEND_ONLY\" ];
			sizes = ( { bytes = 1; to = 1000; } ); $all },
		{ name = \"datagrams\"; src = \"$A4\"; dst = \"$B4\"; first_qpn = 300; opcodes = [ \"UD_SEND_ONLY\" ];
			sizes = ( { bytes = 100; to = 1000; } ); $all }"
}
gen_config send 'role = "tx";' "" "$(flows "dmac = \"$(mac_of B port)\"; count = 480;")"
gen_config sink 'role = "rx";' "addresses = [ \"$B4/24\", \"$B6/64\" ];" "$(flows "")"
if wanted "generated"; then
	watch GA host
	watch B port
	fabric_ctl rate spine 1 20 >/dev/null
	check "generated flows: they run" generate
	unwatch
	check "generated flows: B gets what A sent, but for source port and ICRC" same_but_for_port
	check "generated flows: their order is kept over paths that differ" in_their_order
	check "generated flows: all four paths carried packets" spread 50
	moved() {
		echo "moves $(counter GA direct_moves), packets $(counter GA direct)"
		[ "$(counter GA direct_moves)" -gt 200 ] && [ "$(counter GA direct)" -eq 1440 ]
	}
	check "generated flows: each gap was a chance to move" moved
	fabric_ctl restore >/dev/null
fi
roced_stop GA

# ------------------------------------------------------------------ hosts that acknowledge

# a machine that is busy with other things wakes a process late, which is no dead path
direct_start 'silence_us = 300000; flowlet_us = 2000;'
hosts
fabric_ctl reset >/dev/null
perftest "ib_write_lat" 60 ib_write_lat $V4 -n 1000 -s 64
perftest "ib_read_lat" 60 ib_read_lat $V4 -n 1000 -s 8192
perftest "ib_write_bw, four queue pairs" 60 ib_write_bw $V4 -n 500 -q 4 -s 16384 -t 1
perftest "ib_send_bw, UD" 60 ib_send_bw $V4 -n 500 -c UD -s 1024
perftest "ib_write_bw, IPv6" 60 ib_write_bw $V6 -n 300
verify "every byte" 60 $V4 4096 -q 2 -s 65537
check "all four paths carried packets" spread 200
check "order was kept" in_order
matched() {
	echo "matched $(counter GA direct_matched), unmatched $(counter GA direct_unmatched)," \
		"learned $(counter GA direct_learned)," \
		"unlearned $(counter GA direct_unlearned), moves $(counter GA direct_moves)"
	[ "$(counter GA direct_matched)" -gt 2000 ] &&
		[ $(($(counter GA direct_unmatched) * 20)) -lt "$(counter GA direct_matched)" ] &&
		[ "$(counter GA direct_moves)" -gt 1000 ]
}
check "acknowledgements were matched with what they are for" matched
told() {
	kill -USR1 "$roced_pid_GA"
	wait_for 5 grep -qE "gateway: $A4 to $B4 by port [0-9]+: sent [0-9]+, lost [0-9]+, rtt_ns [1-9]" \
		"$tmp_dir/roced-GA.log"
}
check "the log tells of each path" told

# links LEAF: packets that it sent to each spine since the last reset
links() {
	fabric_ctl links | python3 -c "
import json, sys
print(*[l['up']['packets'] for l in json.load(sys.stdin)['links'] if l['name'].startswith('leaf $1 - spine')])"
}
# Acknowledgements have the source port that B gives them and stay on their path; another one is it that something
# happens to.
other_spine() { links 1 | python3 -c "n = [int(x) for x in input().split()]; print(n.index(min(n)))"; }
share() { links 0 | python3 -c "n = [int(x) for x in input().split()]; print(n[$1] * 1000 // max(1, sum(n)))"; }
# meanwhile NAME COMMAND: while a program writes for eight seconds, message by message
meanwhile() {
	local name=$1 pid
	shift
	fabric_ctl reset >/dev/null
	"$@" >"$tmp_dir/meanwhile.log" 2>&1 &
	pid=$!
	pids+=("$pid")
	perftest "$name" 60 ib_write_bw $V4 -D 8 -s 4096 -t 1 -u 14
	wait "$pid"
	forget_pid "$pid"
	fabric_ctl restore >/dev/null
}

slow_one() {
	local s before
	sleep 2.5
	s=$(other_spine)
	before=$(share "$s")
	# 4 KB take 33 us at 1 Gb/s, 3.3 ms at a hundredth
	fabric_ctl rate spine "$s" 1 >/dev/null
	sleep 1
	fabric_ctl reset >/dev/null
	sleep 3
	echo "$s $before $(share "$s")"
}
if wanted "slow path"; then
	meanwhile "slow path: ib_write_bw" slow_one
	less() {
		set -- $(cat "$tmp_dir/meanwhile.log")
		echo "spine $1: of 1000 packets $2 before and $3 since it is slow"
		[ "$2" -gt 0 ] && [ $(($3 * 2)) -lt "$2" ]
	}
	check "slow path: it gets less than before" less
fi

cut_one() {
	local s
	sleep 2.5
	s=$(other_spine)
	fabric_ctl cut spine "$s" >/dev/null
	sleep 3
	fabric_ctl reset >/dev/null
	sleep 1
	echo "$s $(share "$s") $(links 0)"
}
if wanted "cut path"; then
	meanwhile "cut path: ib_write_bw goes on" cut_one
	noticed() {
		echo "silences $(counter GA direct_silences), losses $(counter GA direct_losses)," \
			"trials $(counter GA direct_trials)"
		set -- $(cat "$tmp_dir/meanwhile.log")
		echo "spine $1: of 1000 packets $2 some seconds after it was cut; all four: ${*:3}"
		[ $(($(counter GA direct_silences) + $(counter GA direct_losses))) -gt 0 ] && [ "$2" -lt 100 ] &&
			[ $(($3 + $4 + $5 + $6)) -gt 50 ]
	}
	check "cut path: that was seen, and the others go on" noticed
fi

if wanted "marks"; then
	fabric_ctl impair mark opcode write from 0 nth 1 every 10 count 0 >/dev/null
	perftest "marks: ib_write_lat" 60 ib_write_lat $V4 -n 1000 -s 1024
	marked() {
		echo "marks $(counter GA direct_marks), CNPs of B $(counter B cnps_sent)"
		[ "$(counter GA direct_marks)" -gt 0 ]
	}
	check "marks: notifications are counted for their path" marked
	fabric_ctl clear >/dev/null
fi
roced_stop A
roced_stop B
roced_stop GA

# ------------------------------------------------------------------ two workers: one of them sees both ways

# and a part of a direct network that may only be spoken to by keys
psk "$tmp_dir/psk" "$KEY"
GATEWAY_QUEUES=2 GATEWAY_WORKERS='{ lcore = 1; cpus = "0-1"; }, { lcore = 2; cpus = "0-1"; }' \
	DIRECT_MORE=', "10.200.0.0/24"' direct_start 'silence_us = 300000; flowlet_us = 2000;' \
	"protection = { psk_file = \"$tmp_dir/psk\"; peers = ( { network = \"10.200.0.9/32\"; policy = \"required\"; } ); };"
check "protection that hosts cannot have is warned of" \
	grep -q "gateway.direct\[2\]: protection.peers\[0\] requires protection for 10.200.0.9/32 in it.*(no_sa)" "$tmp_dir/roced-GA.log"
hosts
perftest "two workers: ib_write_lat" 60 ib_write_lat $V4 -n 1000 -s 64
perftest "two workers: ib_write_lat, IPv6" 60 ib_write_lat $V6 -n 1000 -s 64
verify "two workers: every byte" 60 $V4 4096 -q 2 -s 65537
check "two workers: order was kept" in_order
check "two workers: acknowledgements were matched" eval 'counter GA direct_matched;
	[ "$(counter GA direct_matched)" -gt 1000 ] && [ "$(counter GA direct_learned)" -ge 2 ]'
roced_stop A
roced_stop B
roced_stop GA
fabric_stop
finish
