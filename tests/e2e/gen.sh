#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# roce-gen: what it sends is what it sees, over veth pairs and over roce-fabric; what it breaks is what it, tshark and roced find
# broken; other generators have it as their sink, and it serves as theirs.
#
# usage: tests/e2e/gen.sh      (root; ROCED_BUILD names the build directory, ONLY=REGEX runs some cases)
# shellcheck source-path=SCRIPTDIR disable=SC2317,SC2086,SC2016
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"

gen_bin=${GEN_BIN:-$build_dir/app/roce-gen/roce-gen}
results=$tmp_dir/results.json

need python3 ping
[ -x "$gen_bin" ] || skip_all "no $gen_bin"

# ------------------------------------------------------------------ helpers

af_packet() { echo "net_af_packet$1,iface=$2,blocksz=65536,framesz=8192,framecnt=2048"; }

# gen_config NAME TOP-KEYS PORTS FLOWS: the file $tmp_dir/NAME.conf
gen_config() {
	cat >"$tmp_dir/$1.conf" <<-END
		eal = { args = [ "--no-huge", "-m", "400" ]; };
		run_path = "$tmp_dir/$1";
		$2
		ports = ( $3 );
		flows = ( $4 );
	END
}
port_keys() { echo "{ name = \"$1\"; mtu = 4200; device = \"$(af_packet "$2" "$3")\"; ${4:-} }"; }

# gen NS SECONDS ARGUMENTS...: results in $results, what it said in $tmp_dir/gen.log
gen() {
	local where=$1 limit=$2
	shift 2
	rm -f "$results"
	(cd "$repo_dir" && timeout -k 2 "$limit" ip netns exec "$(ns "$where")" "$gen_bin" "$@" --json --results "$results") \
		>"$tmp_dir/gen.log" 2>&1
}

# result PYTHON: an expression over the results r
result() { python3 -c "import json, sys; r = json.load(open('$results')); print($1)"; }
is() { # PYTHON: whether it is true
	[ -s "$results" ] || { echo "no results"; tail -n 5 "$tmp_dir/gen.log"; return 1; }
	[ "$(result "bool($1)")" = True ] && return 0
	tail -n 5 "$tmp_dir/gen.log"
	result "json.dumps(r, indent=1)"
	return 1
}

# start_sink NS CONF [ARGUMENTS]: ends with stop_sink, results in $results
sink_pid=
start_sink() {
	local where=$1 conf=$2
	shift 2
	rm -f "$results"
	: >"$tmp_dir/gen.log" # an earlier one's "ready" is not this one's
	ip netns exec "$(ns "$where")" "$gen_bin" "$conf" "$@" --json --results "$results" >"$tmp_dir/gen.log" 2>&1 &
	sink_pid=$!
	pids+=("$sink_pid")
	wait_for 60 grep -q 'roce-gen: ready' "$tmp_dir/gen.log" && return 0
	tail -n 5 "$tmp_dir/gen.log"
	return 1
}
stop_sink() {
	local rc=0
	kill -INT "$sink_pid"
	wait "$sink_pid" || rc=$?
	forget_pid "$sink_pid"
	[ $rc -eq 0 ] || { echo "status $rc"; tail -n 5 "$tmp_dir/gen.log"; }
	return $rc
}

# ------------------------------------------------------------------ a veth pair, both ends in one process

make_ns G
veth G gen-a G gen-b 4200

example() { gen G 120 "$repo_dir/config/gen/$1.conf"; }
all_came() {
	is "r['run']['ended_by'] == 'count' and all(f['packets'] == r['tx'][n]['frames'] for n, f in r['rx'].items())" &&
		is "all(f['psn'][k] == f['number'][k] == 0 for f in r['rx'].values() for k in f['psn'])" &&
		is "all(0 < f['latency_ns']['p50'] <= f['latency_ns']['p99'] <= f['latency_ns']['max'] for f in r['rx'].values())"
}
# in the time that the machine left it
rates_kept() {
	is "abs(r['tx']['writes']['wire_bps'] / 200e6 / (1 - r['tx']['writes']['late_ns'] / r['tx']['writes']['ns']) - 1) < 0.1" &&
		is "abs(r['tx']['datagrams']['pps'] / 2000 / (1 - r['tx']['datagrams']['late_ns'] / r['tx']['datagrams']['ns']) - 1) < 0.1"
}
if wanted "example two-ports"; then
	check "example two-ports: sent is received" eval 'example two-ports && all_came'
	check "example two-ports: at the rates that were asked for" rates_kept
fi
sizes_came() {
	example sizes && is "r['run']['ended_by'] == 'duration'" &&
		is "r['rx']['storage']['packets'] == r['tx']['storage']['frames'] and r['rx']['storage']['streams'] == 200"
}
check "example sizes: 200 queue pairs of many hosts, nothing lost in two seconds" sizes_came
replayed() {
	example replay && is "r['tx']['recorded']['frames'] == 1500 == r['ports']['b']['rx_frames']" &&
		is "r['rx_other']['packets'] == 1500 and r['rx_other']['psn']['lost'] > 0"
}
check "example replay: a capture of a lossy connection, all of it" replayed

# Each fault on a flow of its own, counted by the flow and by the sink.
if wanted "example faults"; then
	check "example faults: it runs" example faults
	check "example faults: bad ICRCs" is "r['rx']['icrc']['bad_icrc'] == 100 == r['tx']['icrc']['faults']['bad_icrc'] == r['ports']['b']['rx_malformed']['icrc']"
	check "example faults: marks" is "50 < r['rx']['marks']['ce'] == r['tx']['marks']['faults']['ce'] < 150"
	check "example faults: PSN gaps" is "r['rx']['gaps']['psn']['lost'] == 200 and r['rx']['gaps']['number']['lost'] == 0"
	check "example faults: PSN jumps" is "r['rx']['jumps']['psn']['jumps'] == 100 and r['rx']['jumps']['psn']['lost'] == 0"
	check "example faults: PSN duplicates" is "r['rx']['twice']['psn']['duplicates'] == 100 and r['rx']['twice']['number']['duplicates'] == 0"
	check "example faults: loss" is "r['rx']['lost']['psn']['lost'] == 100 == r['rx']['lost']['number']['lost']"
	check "example faults: repetition" is "r['rx']['repeated']['psn']['duplicates'] == 100 == r['rx']['repeated']['number']['duplicates']"
	check "example faults: cut short" is "r['ports']['b']['rx_malformed']['truncated'] == 100 and r['rx']['cut']['packets'] == 900"
	check "example faults: pad" is "r['rx']['pad']['bad_pad'] == 100"
	check "example faults: opcode" is "r['ports']['b']['rx_malformed']['opcode'] == 100"
	check "example faults: CNPs" is "r['rx']['cnps']['cnps'] == 500 and r['rx']['cnps']['psn']['lost'] == 0"
	check "example faults: pauses" is "r['ports']['b']['rx_pfc'] == 100 == r['ports']['b']['rx_paused']['3']"
fi

# tshark reads the same frames with its own eyes.
tshark_pid=
capture() { # FILE FILTER
	ip netns exec "$(ns G)" timeout 150 tshark -i gen-b -w "$1" -f "$2" >"$tmp_dir/tshark.log" 2>&1 &
	tshark_pid=$!
	pids+=("$tshark_pid")
	wait_for 10 grep -q 'Capture started\|Capturing on' "$tmp_dir/tshark.log"
	sleep 1
}
capture_end() {
	sleep 0.5
	end_pid "$tshark_pid"
	forget_pid "$tshark_pid"
}
# shown FILE FILTER: how many frames pass tshark's display filter
shown() { tshark -r "$1" -Y "$2" 2>/dev/null | wc -l; }
if ! command -v tshark >/dev/null; then
	skip "tshark sees the faults" "tshark is not installed"
elif wanted "tshark sees"; then
	capture "$tmp_dir/faults.pcapng" "udp port 4791 or ether proto 0x8808"
	example faults
	capture_end
	f=$tmp_dir/faults.pcapng
	check "tshark sees WRITE ONLY of the right flow" eval '[ "$(shown $f "infiniband.bth.opcode == 0x0a && infiniband.bth.destqp == 0x64")" -eq 1000 ]'
	check "tshark sees the marks" eval '[ "$(shown $f "ip.dsfield.ecn == 3")" -eq "$(result "r[\"rx\"][\"marks\"][\"ce\"]")" ]'
	check "tshark sees the CNPs" eval '[ "$(shown $f "infiniband.bth.opcode == 0x81")" -eq 500 ]'
	check "tshark sees the opcode that nobody has" eval '[ "$(shown $f "infiniband.bth.opcode == 223")" -eq 100 ]'
	check "tshark sees the pauses" eval '[ "$(shown $f "macc.opcode == 0x0101 && macc.cbfc.pause_time.c3 == 1000")" -eq 100 ]'
	check "tshark sees frames that are shorter than IP says" eval '[ "$(shown $f "_ws.expert.message contains \"IPv4 total length exceeds\"")" -eq 100 ]'
	check "tshark sees the jumps" eval '[ "$(shown $f "infiniband.bth.destqp == 0x67 && infiniband.bth.psn > 0x700000")" -eq 100 ]'
fi

# ------------------------------------------------------------------ how it ends, and what it refuses

long_ports="$(port_keys a 0 gen-a), $(port_keys b 1 gen-b)"
flow='{ name = "f"; src = "10.0.0.1"; dst = "10.0.0.2"; '
gen_config long 'role = "both"; report_ms = 100;' "$long_ports" "$flow rate_pps = 1000; }"
sigint_ends() {
	start_sink G "$tmp_dir/long.conf" || return 1
	sleep 2
	stop_sink && is "r['run']['ended_by'] == 'signal' and 500 < r['rx']['f']['packets']" && grep 'frames sent' "$tmp_dir/gen.log"
}
check "SIGINT ends it with status 0 and all results, and it told how it went" sigint_ends
gen_config strict 'role = "both"; strict = true;' "$long_ports" "$flow count = 100; rate_pps = 1000; faults = ( { kind = \"loss\"; every = 7; } ); }"
strict_says() { gen G 60 "$tmp_dir/strict.conf"; [ $? -eq 3 ] && is "r['rx']['f']['psn']['lost'] == 14"; }
check "strict: status 3 when something is lost" strict_says
gen_config wrong 'role = "both";' "$long_ports" "$flow rate = 1000; }"
wrong_told() { gen G 60 "$tmp_dir/wrong.conf"; [ $? -eq 1 ] && grep "wrong.conf:5: flows\[0\]: unknown key 'rate'" "$tmp_dir/gen.log"; }
check "a wrong key: status 1, with file and line" wrong_told
checked() {
	local conf
	for conf in "$repo_dir"/config/gen/*.conf; do (cd "$repo_dir" && "$gen_bin" --check "$conf") || return 1; done
	! "$gen_bin" --check "$tmp_dir/wrong.conf"
}
check "--check takes the examples and refuses the wrong one" checked
usage_told() { "$gen_bin"; [ $? -eq 2 ] && "$gen_bin" --help && "$gen_bin" --print-help --markdown | grep -q 'flows\[\].faults\[\].kind'; }
check "wrong usage: status 2" usage_told
no_port() { gen_config none 'role = "rx";' "$(port_keys a 0 no-such-if)" ""; gen G 60 "$tmp_dir/none.conf"; [ $? -eq 1 ]; }
check "a port that is not there: status 1" no_port
same_again() { # the frames of two runs with one seed, but for the times
	local i
	for i in 1 2; do
		gen G 60 "$tmp_dir/seed$i.conf" || return 1
		"$build_dir/app/rocectl/rocectl" decode "$tmp_dir/seed$i.pcap" | awk '{ $2 = ""; print }' >"$tmp_dir/seed$i"
	done
	[ "$(grep -c 'icrc=ok' "$tmp_dir/seed1")" -eq "$(result "r['tx']['f']['frames']")" ] || return 1
	[ "$(wc -l <"$tmp_dir/seed1")" -ge 400 ] && cmp "$tmp_dir/seed1" "$tmp_dir/seed2"
}
for i in 1 2; do
	gen_config seed$i 'role = "tx"; seed = 5;' "{ name = \"a\"; mtu = 4200;
		device = \"net_pcap0,rx_pcap=$repo_dir/tests/data/captures/read.pcap,tx_pcap=$tmp_dir/seed$i.pcap\"; }" \
		"$flow dmac = \"02:00:00:00:00:02\"; qps = 3; count = 500; sizes = ( { bytes = 1; to = 4000; } );
		faults = ( { kind = \"loss\"; ppm = 100000; } ); }"
done
check "the same seed sends the same frames, all with right ICRCs, into a capture" same_again

# ------------------------------------------------------------------ other generators

testpmd() { # OPTIONS: sends by gen-a, for two seconds once it does
	timeout -k 2 90 ip netns exec "$(ns G)" dpdk-testpmd --no-huge -m 256 --no-shconf --no-pci --no-telemetry -l 0,1 \
		--vdev "net_af_packet0,iface=gen-a,framesz=2048,blocksz=65536,framecnt=2048" -- --no-mlockall --total-num-mbufs=4096 \
		--stats-period 1 "$@" >"$tmp_dir/testpmd.log" 2>&1 &
	local pid=$!
	pids+=("$pid")
	wait_for 60 grep -q 'TX-packets: [1-9]' "$tmp_dir/testpmd.log"
	sleep 2
	end_pid "$pid"
	forget_pid "$pid"
}
gen_config sink 'role = "rx";' "$(port_keys b 0 gen-b 'mbufs = 8192;')" ""
from_testpmd() { # MODE OPTIONS
	start_sink G "$tmp_dir/sink.conf" || return 1
	testpmd --forward-mode="$1" "${@:2}"
	tail -n 12 "$tmp_dir/testpmd.log"
	sleep 0.3
	stop_sink && is "r['ports']['b']['rx_frames'] > 1000 and r['ports']['b']['rx_malformed']['not_roce'] > 1000"
}
if command -v dpdk-testpmd >/dev/null; then
	check "dpdk-testpmd txonly into the sink: counted as not RoCE" from_testpmd txonly --txpkts=64
	check "dpdk-testpmd flowgen into the sink: counted as not RoCE" from_testpmd flowgen --txpkts=128 --flowgen-flows=64
else
	skip "dpdk-testpmd into the sink" "dpdk-testpmd is not installed"
fi

# The sink has addresses of its own.
ip -n "$(ns G)" link add gen-k mtu 4200 type veth peer name gen-p mtu 4200
in_ns G ethtool -K gen-k tx off gso off tso off gro off >/dev/null 2>&1
quiet_if G gen-p 4200
ip -n "$(ns G)" link set gen-k up
ip -n "$(ns G)" addr add 10.79.0.1/24 dev gen-k
gen_config answers 'role = "rx";' "$(port_keys p 0 gen-p 'addresses = [ "10.79.0.2/24", "fd79::2/64" ];')" ""
answers() {
	start_sink G "$tmp_dir/answers.conf" || return 1
	in_ns G ping -q -c 5 -i 0.1 -W 1 10.79.0.2 || return 1
	stop_sink
}
check "the sink answers ARP and ping for its addresses" answers
finish_sink() { [ -n "$sink_pid" ] && kill -0 "$sink_pid" 2>/dev/null && end_pid "$sink_pid"; }
finish_sink

# ------------------------------------------------------------------ over roce-fabric

if [ -x "$fabric_bin" ]; then
	wire_fabric 4200
	fabric_config "host_mbps = 4000; leaf_mbps = 1000; buffer_bytes = 8388608;" >"$tmp_dir/fabric.conf"
	fabric_start "$tmp_dir/fabric.conf" || finish
	mac_of() { in_ns "$1" cat "/sys/class/net/$2/address"; }
	between="role = \"tx\";"
	gen_config send "$between" "$(port_keys p 0 port)" "{ name = \"w\"; src = \"$A4\"; dst = \"$B4\";
		dmac = \"$(mac_of B port)\"; qps = 32; sizes = ( { bytes = 8192; } ); mtu = 4096; rate_mbps = 60; burst = 4; count = 4000; }"
	gen_config receive 'role = "rx";' "$(port_keys p 0 port "addresses = [ \"$B4/24\" ];")" \
		"{ name = \"w\"; src = \"$A4\"; dst = \"$B4\"; qps = 32; }"
	through() {
		fabric_ctl reset >/dev/null
		start_sink B "$tmp_dir/receive.conf" || return 1
		timeout 120 ip netns exec "$(ns A)" "$gen_bin" "$tmp_dir/send.conf" --json >"$tmp_dir/send.json" 2>"$tmp_dir/send.log"
		sent=$?
		sleep 0.5
		stop_sink && [ $sent -eq 0 ]
	}
	# The kernels at the fabric speak of neighbours and groups now and then: that is no RoCE.
	fabric_clean() {
		through && [ "$(python3 -c "import json; print(json.load(open('$tmp_dir/send.json'))['tx']['w']['frames'])")" -eq 4000 ] &&
			is "r['rx']['w']['packets'] == 4000 and r['rx']['w']['streams'] == 32 and set(r['ports']['p']['rx_malformed']) <= {'not_roce'}" &&
			is "all(v == 0 for k in ('psn', 'number') for v in r['rx']['w'][k].values())"
	}
	check "over roce-fabric: sent in one process is received in another, nothing lost" fabric_clean
	check "over roce-fabric: the source ports of 32 queue pairs use several paths" eval '[ "$(spines_used 200)" -ge 3 ]'
	fabric_faults() {
		fabric_ctl loss spine 0 count 4 20000 >/dev/null
		fabric_ctl repeat spine 0 count 4 20000 >/dev/null
		fabric_ctl corrupt spine 0 count 4 20000 >/dev/null
		fabric_ctl delay spine 0 count 4 20000 100000000 >/dev/null
		through || return 1
		fabric_ctl restore >/dev/null
		# what is damaged is not lost on the way, and may be anything but a right packet
		is "20 < r['rx']['w']['psn']['lost'] and r['rx']['w']['psn'] == r['rx']['w']['number']" &&
			is "r['rx']['w']['psn']['duplicates'] > 20 and r['rx']['w']['psn']['reordered'] > 5" &&
			is "sum(r['ports']['p']['rx_malformed'].values()) > 20" &&
			is "r['rx']['w']['packets'] - r['rx']['w']['psn']['duplicates'] + r['rx']['w']['psn']['lost'] <= 4000"
	}
	check "over roce-fabric: its losses, repetitions, damage and reordering are seen" fabric_faults

	# ------------------------------------------------------------------ roced as the target
	roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish
	target="src = \"$A4\"; dst = \"$B4\"; dmac = \"$(mac_of B port)\"; rate_pps = 4000; count = 8000;"
	gen_config storm 'role = "tx";' "$(port_keys p 0 port)" "
		{ name = \"icrc\"; $target first_qpn = 1; faults = ( { kind = \"bad_icrc\"; every = 1; } ); },
		{ name = \"cut\"; $target first_qpn = 2; faults = ( { kind = \"truncate\"; every = 1; } ); },
		{ name = \"opcode\"; $target first_qpn = 3; faults = ( { kind = \"bad_opcode\"; every = 1; } ); },
		{ name = \"cnp\"; $target first_qpn = 4; opcodes = [ \"CNP\" ]; },
		{ name = \"pfc\"; $target opcodes = [ \"PFC\" ]; pfc_priorities = [ 0, 3 ]; }"
	drops() { # REASON: of the daemon in B
		local at log=$tmp_dir/roced-B.log
		at=$(($(wc -l <"$log") + 1))
		kill -USR1 "$roced_pid_B" || return 1
		sleep 0.5
		tail -n "+$at" "$log" | grep -o "\b$1 [0-9]*" | awk '{ n += $2 } END { print n + 0 }'
	}
	survives() {
		local icrc truncated opcode
		timeout 120 ip netns exec "$(ns A)" "$gen_bin" "$tmp_dir/storm.conf" >"$tmp_dir/send.log" 2>&1 || return 1
		icrc=$(drops icrc) truncated=$(drops truncated) opcode=$(drops opcode)
		cat "$tmp_dir/send.log"
		echo "icrc $icrc truncated $truncated opcode $opcode"
		[ "$icrc" -ge 6000 ] && [ "$truncated" -ge 5000 ] && [ "$opcode" -ge 6000 ]
	}
	check "roced as the target of bad ICRCs, cut frames, opcodes, CNPs and pauses counts its drops" survives
	daemon_lives() { in_ns A ip route replace 10.77.0.0/24 dev kern src $K4A; in_ns A ping -q -n -c 3 -W 2 $B4; }
	check "and serves on" daemon_lives
	roced_stop B
	fabric_stop
else
	skip "over roce-fabric" "no $fabric_bin"
fi
finish
