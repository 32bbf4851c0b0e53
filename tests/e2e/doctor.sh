#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rocectl doctor beside running daemons, and without one: faults that are made for real are found, with what to do, and what is well is not complained of.
#
# usage: tests/e2e/doctor.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
need ss python3
rocectl=$build_dir/app/rocectl/rocectl
[ -x "$rocectl" ] || skip_all "no $rocectl"
report=$tmp_dir/report.json

wire_direct 4200
CONTROL_KEYS='telemetry = true;' roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish
socket=$(telemetry_socket A)

# doctor STATUS ARGUMENTS...: of A's daemon, from outside of its namespace; STATUS may be a pattern
doctor() {
	local want=$1 rc=0
	shift
	"$rocectl" doctor --json --socket "$socket" "$@" >"$report" || rc=$?
	python3 -m json.tool "$report"
	# shellcheck disable=SC2254
	case $rc in $want) return 0 ;; esac
	echo "status $rc"
	return 1
}

# found CHECK SEVERITY SUBJECT [WORDS]: there is such a finding, it says why and what to do, and WORDS stand in what it saw or says to do
found() {
	python3 - "$report" "$@" <<-'END'
		import json, sys
		report, check, severity, subject, words = json.load(open(sys.argv[1])), *sys.argv[2:5], (sys.argv[5:] or [""])[0]
		for f in report["findings"]:
		    print(f["check"], f["severity"], f["subject"], f["saw"], "|", f["do"])
		    if (f["check"], f["severity"], f["subject"]) == (check, severity, subject) and f["why"] and f["do"] and words in f["saw"] + f["do"]:
		        sys.exit(0)
		sys.exit(1)
	END
}

# result CHECK: ok, note, warning, problem or not_checked
result() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["checks"][sys.argv[2]])' "$report" "$1"; }
is() { [ "$(result "$1")" = "$2" ] || { echo "$1 is $(result "$1")"; cat "$report"; return 1; }; }

# ------------------------------------------------------------------ what is well

check "beside a daemon, both peers are tried: no problem" doctor '[01]' "$B4" "$B6"
for name in config daemon link mtu route neighbour gid offload dscp ecn entropy alarms; do
	check "well: $name" is $name ok
done
check "the configuration is the daemon's own" grep -q "\"config\":\"$tmp_dir/roced-A.conf\"" "$report"
named() { "$rocectl" doctor --json -c "$tmp_dir/roced-A.conf" | grep -q "\"pid\":$roced_pid_A,"; }
check "who names a file means its daemon, whatever others there are" named
reached() { "$rocectl" doctor --socket "$socket" "$B4" | grep "^reached  $B4 by roced0, port p0, packets of 4160 bytes too"; }
check "the text says that the peer was reached" reached

# ------------------------------------------------------------------ what is not

nobody=10.77.0.99
check "no neighbour: found" doctor 3 $nobody 192.0.2.1
check "no neighbour: who does not answer, and where" found neighbour problem $nobody "port p0"
check "no route: found" found route problem 192.0.2.1 gateway4

ip -n "$(ns B)" link set dev port mtu 1500
check "a smaller MTU on the way: found" doctor 3 "$B4"
check "a smaller MTU on the way: long packets do not come" found mtu problem "$B4" "4160"
check "a smaller MTU at the other end of a veth pair: found" found mtu problem p0 "other end"
ip -n "$(ns A)" link set dev port mtu 1500
check "the interface's MTU below the port's: found" doctor 3
check "the interface's MTU below the port's: how to raise it" found mtu problem p0 "ip link set dev port mtu 4200"
ip -n "$(ns A)" link set dev port mtu 4200
ip -n "$(ns B)" link set dev port mtu 4200

in_ns A ethtool -K port tx on >/dev/null 2>&1
in_ns B ethtool -K port tx on >/dev/null 2>&1
check "checksums left to hardware: a warning" doctor 1
check "checksums left to hardware: of which interface" found offload warning p0 "ethtool -K port tx off"
check "checksums left to hardware: at the other end too" found offload warning p0 "other end"
in_ns A ethtool -K port tx off >/dev/null 2>&1
in_ns B ethtool -K port tx off >/dev/null 2>&1

ip -n "$(ns B)" link set dev port down
check "no carrier: found" doctor 3
check "no carrier: of which interface" found link problem p0 "carrier"
ip -n "$(ns B)" link set dev port up
# the daemon looks at links once a second
check "and all is well again" wait_for 2 doctor '[01]' "$B4"
check "well again: mtu" is mtu ok
check "well again: offload" is offload ok

# ------------------------------------------------------------------ without a daemon

without() {
	local rc=0
	"$rocectl" doctor --json -c "$1" "${@:2}" >"$report" 2>"$tmp_dir/doctor.err" || rc=$?
	cat "$report" "$tmp_dir/doctor.err"
	return $rc
}
sed 's/net_af_packet0,iface=port/net_af_packet0,iface=nowhere/; s/mtu = 4096;/mtu = 4096; gateway4 = "10.77.0.254";/' \
	"$tmp_dir/roced-A.conf" >"$tmp_dir/other.conf"
status() { without "$@"; [ $? -eq "$STATUS" ]; }
STATUS=3 check "a file without a daemon: problems" status "$tmp_dir/other.conf" 192.0.2.1
check "no such interface" found link problem p0 nowhere
check "a router is a route" is route ok
check "what needs a daemon is not checked" is drops not_checked
echo 'ports = ( { name = "p0"; device = "nothing"; } );' >"$tmp_dir/bad.conf"
STATUS=3 check "a file with errors" status "$tmp_dir/bad.conf"
check "says the first, and how to see them all" found config problem file "--check"
usage_says_so() { "$rocectl" doctor --nonsense; [ $? -eq 2 ] && ! "$rocectl" doctor not-an-address; }
check "bad usage: 2" usage_says_so

roced_stop A
roced_stop B
finish
