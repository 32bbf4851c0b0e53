#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Conformance scenarios between two daemons: a roce-fabric in the middle does to chosen packets what each scenario says.
#
# usage: tests/e2e/conformance.sh      (root; ROCED_BUILD names the build directory, ONLY=REGEX chooses scenarios)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/../conformance/cases.sh"

need ss python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
make_ns A B F
side_channel
for n in A B; do veth $n port F "${n,}" 4200; done
cat >"$tmp_dir/fabric.conf" <<-END
	eal = { args = [ "--no-huge", "-m", "256" ]; };
	control = { socket = "$tmp_dir/fabric.sock"; };
	fabric = { leaves = 1; spines = 1; hosts_per_leaf = 2; };
	ports = ( { name = "a"; host = 0; mtu = 4200; device = "$(af_packet_device a)"; },
	          { name = "b"; host = 1; mtu = 4200; device = "net_af_packet1,iface=b,blocksz=65536,framesz=8192,framecnt=2048"; } );
	impairments = ( { action = "count"; name = "all"; }, { action = "drop"; opcode = "READ_REQUEST"; nth = 3; } );
END
fabric_start "$tmp_dir/fabric.conf" || finish
# A queue pair keeps to the port of its address vector.
export MORE="multipath = { plain = { scheduler = \"ecmp\"; evs = 1; }; };"
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# ------------------------------------------------------------------ the control socket

rule_is() { # PYTHON: whether it is true of the list r of rules
	fabric_ctl impairments | tee "$tmp_dir/rules" | python3 -c "import json, sys; r = json.load(sys.stdin)['impairments']; sys.exit(not ($1))"
}
refused() { # WORDS COMMAND: the answer is an error with these words
	fabric_ctl "$2" >"$tmp_dir/refused" && return 1
	cat "$tmp_dir/refused"
	python3 -c "import json, sys; e = json.load(open('$tmp_dir/refused')); sys.exit(e['ok'] or '$1' not in e['error'])"
}
check "rules of the file are there" rule_is "[x['is'] for x in r] == ['count name all', 'drop opcode READ_REQUEST nth 3']"
perftest "rules of the file: the third READ of ib_read_bw is lost and asked for again" 30 ib_read_bw 1 -n 20 -s 4096
check "rules of the file have hit" rule_is "r[0]['hits'] > 40 and r[1]['hits'] == 1 and r[1]['matches'] > 20"
reset_rules() { fabric_ctl reset >/dev/null && rule_is "all(x['matches'] == 0 and x['hits'] == 0 for x in r)"; }
check "reset: their counters begin anew" reset_rules
check "a name that is taken is refused" refused "there is a rule all already" "impair drop name all"
check "a host that is not there is refused" refused "the fabric has 2 hosts" "impair drop from 2"
check "a wrong opcode is refused" refused "opcode: frob is wrong" "impair drop opcode frob"
check "a rule that is not there is not cleared" refused "no such rule" "clear frob"
clears() { fabric_ctl clear all >/dev/null && fabric_ctl clear 2 >/dev/null && rule_is "r == []"; }
check "rules are cleared by name and number" clears
too_many() {
	local i
	for ((i = 0; i < 64; i++)); do fabric_ctl impair drop psn $i >/dev/null || return 1; done
	refused "there are 64 rules already" "impair drop" && fabric_ctl clear | grep '"cleared":64'
}
check "more than 64 rules are refused" too_many
held() { fabric_ctl impairments | grep -q '"held":[1-9]'; }

# ------------------------------------------------------------------ the runner

# finds WORDS SCENARIO: that this is otherwise than the scenario expects is found
finds() {
	printf 'title = "a"; clause = "b"; %s\n' "$2" >"$tmp_dir/own.conf"
	stage "$tmp_dir/own.conf" A || { cat "$case_dir/wrong"; return 1; }
	play A B
	conduct judge
	[ $? -eq 1 ] && grep -F "$1" "$case_dir/wrong" && [ "$(wc -l <"$case_dir/wrong")" -eq 1 ] || { cat "$case_dir/wrong"; return 1; }
}
send='traffic = "--op send --size 8 --count 1";'
check "the runner finds another status" finds "status SUCCESS, not RETRY_EXC_ERR" "$send expect = { status = \"RETRY_EXC_ERR\"; };"
check "the runner finds another number of receives" finds "received 1, not 2" "$send expect = { received = 2; };"
check "the runner finds packets that are missing" finds '0 seen of "count opcode nak", not 1 or more' "$send seen = ( { action = \"count\"; opcode = \"nak\"; } );"
check "the runner finds packets that are too many" finds '1 seen of "count opcode send", not 0 to 0' \
	"$send seen = ( { action = \"count\"; opcode = \"send\"; min = 0; max = 0; } );"
check "the runner finds a rule that does not hit" finds '"drop opcode read" met 0 packets and never hit' "$send impairments = ( { action = \"drop\"; opcode = \"read\"; } );"
check "the runner finds a counter" finds "requester: retransmits is 0, not >= 1" "$send expect = { requester = [ \"retransmits >= 1\" ]; };"
check "the runner finds that it took too long" finds "took" "$send expect = { ms_min = 60000; };"
wrong_file() { # WORDS SCENARIO: is refused with these
	printf 'title = "a"; clause = "b"; %s\n' "$2" >"$tmp_dir/own.conf"
	! "$scenario_bin" "$tmp_dir/own.conf" >"$tmp_dir/own.out" 2>&1 && cat "$tmp_dir/own.out" && grep -F "$1" "$tmp_dir/own.out"
}
check "a scenario with a wrong rule is refused" wrong_file "own.conf:1: impairments[0]: opcode: frob is wrong" \
	"$send impairments = ( { action = \"drop\"; opcode = \"frob\"; } );"
check "a scenario with a wrong counter is refused" wrong_file 'must be like "retransmits >= 1"' "$send expect = { requester = [ \"retransmits\" ]; };"
check "a scenario with a third host is refused" wrong_file "the fabric has 2 hosts" "$send impairments = ( { action = \"drop\"; from = 2; } );"

# ------------------------------------------------------------------ scenarios

scenarios A B

# What is held when the fabric ends is given up.
fabric_ctl impair delay opcode any count 0 delay_us 60000000 >/dev/null
in_ns A timeout 1 "$roced_run_bin" --socket "$tmp_dir/roced-A.sock" rping -c -a $B4 -C 1 >/dev/null 2>&1
check "packets can be held for a minute" held
roced_stop A
roced_stop B
fabric_stop
finish
