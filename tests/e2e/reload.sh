#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The configuration changes while data flows: all of it or nothing, and no queue pair ends.
#
# usage: tests/e2e/reload.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/protect.sh"

KEY2=ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100

need ss ib_write_bw rping python3
wire_direct 4300
psk "$tmp_dir/A.psk" "$KEY"
psk "$tmp_dir/B.psk" "$KEY"

# conf NS: what a daemon there is to run with; the variables of roced_config() say what is more than the usual
conf() {
	local addrs=("$A4/24" "$A6/64") mtu=${MTU:-4300}
	[ "$1" = A ] || addrs=("$B4/24" "$B6/64")
	[ -z "${third:-}" ] || addrs+=("10.81.0.$([ "$1" = A ] && echo 1 || echo 2)/24")
	CONTROL_KEYS="telemetry = true; ${KEYS:-}" roced_config "roced-$1" "$(af_packet_device port)" 4096 "$mtu" "${addrs[@]}"
}

# reloads NS STATUS TEXT [OPTIONS...]: with the configuration on standard input; what rocectl says has TEXT
reloads() {
	local where=$1 want=$2 text=$3 rc=0
	shift 3
	cat >"$tmp_dir/next-$where.conf"
	rocectl "$where" reload "$@" "$tmp_dir/next-$where.conf" >"$tmp_dir/reload.out" 2>&1 || rc=$?
	cat "$tmp_dir/reload.out"
	[ $rc -eq "$want" ] && grep -qF -- "$text" "$tmp_dir/reload.out"
}
applied() { reloads "$1" 0 "applied:"; }
devices() { run_in "$1" ibv_devices | awk 'NR > 2 {printf "%s ", $1}'; }
has_devices() { echo "$(devices "$1")"; [ "$(devices "$1")" = "$2 " ]; }

# The traffic that must not notice: one way for as long as all of this takes.
begin_traffic() {
	spawn_in B 200 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -q 2 -D 100 --run_infinitely
	server_pid=$spawned_pid
	wait_for 5 tcp_listens B 18515 || return 1
	spawn_in A 200 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -q 2 -D 1 --run_infinitely "$SIDE_B"
	client_pid=$spawned_pid
	wait_for 5 flows
}
rows() { grep -c '^ *65536 ' "$tmp_dir/client.log"; }
flows() { [ "$(rows)" -gt 0 ]; }
more_rows() { [ "$(rows)" -gt "$1" ]; }
# flows_on: a second that began after this was called has brought data
flows_on() {
	local n
	n=$(rows)
	wait_for 8 more_rows $((n + 1)) && kill -0 "$client_pid" && kill -0 "$server_pid" &&
		tail -n 1 "$tmp_dir/client.log" | awk '$1 == 65536 {exit !($4 > 0)} $1 != 65536 {exit 1}'
}

conf A >"$tmp_dir/roced-A.conf"
conf B >"$tmp_dir/roced-B.conf"
roced_launch A && roced_launch B || finish
check "data flows" begin_traffic

# ------------------------------------------------------------------ nothing changes

check "the same again: nothing to do" sh -c "[ -n '$(telemetry_socket A)' ] && '$build_dir/app/rocectl/rocectl' reload --socket '$(telemetry_socket A)' | grep -q '^unchanged'"
wrong_file() { conf A | sed 's/devices = /device = /' | reloads A 1 "unknown key 'device', did you mean 'devices'?"; }
check "a broken file: what, where and what would be right" wrong_file
check "and nothing has changed" has_devices A roced0
needs_restart() {
	conf A | sed 's/"512"/"600"/' | reloads A 1 'eal.args: [ "--no-huge", "-m", "512" ] becomes [ "--no-huge", "-m", "600" ]: needs a restart' &&
		MTU=4400 conf A | reloads A 1 'ports["p0"].mtu: 4300 becomes 4400: needs a restart'
}
check "what needs a restart is named, and refused" needs_restart
all_or_nothing() {
	MTU=4400 MORE_DEVICES=', { name = "roced1"; port = "p0"; addresses = [ "10.79.0.1/24" ]; }' conf A |
		reloads A 1 'devices["roced1"]: added' && has_devices A roced0
}
check "with all else that is in the file" all_or_nothing
dry_run() {
	MORE_DEVICES=', { name = "roced1"; port = "p0"; addresses = [ "10.79.0.1/24" ]; }' conf A |
		reloads A 0 'possible: 1 differences' --dry-run && has_devices A roced0
}
check "a dry run says what would be done, and does not" dry_run

# ------------------------------------------------------------------ devices

second() { # NS NUMBER
	MORE_DEVICES=", { name = \"roced1\"; port = \"p0\"; addresses = [ \"10.79.0.$2/24\" ]; }" conf "$1"
}
devices_come() { second A 1 | applied A && second B 2 | applied B && has_devices A "roced0 roced1"; }
check "devices are added" devices_come
cm_pair "and are used" 20 "rping -s -a 10.79.0.2 -V -C 20 -S 4000" "rping -c -a 10.79.0.2 -V -C 20 -S 4000"
check "data flows on" flows_on
refused_while_used() {
	conf A | sed 's/roced0/roced9/' | reloads A 1 'devices["roced0"]: the device is used by 1 program, process ' &&
		has_devices A "roced0 roced1"
}
check "a device that a program has open is not removed" refused_while_used
address_moves() {
	MORE_DEVICES=', { name = "roced1"; port = "p0"; addresses = [ "10.80.0.1/24" ]; }' conf A | applied A &&
		MORE_DEVICES=', { name = "roced1"; port = "p0"; addresses = [ "10.80.0.2/24" ]; }' conf B | applied B
}
check "an unused device gets another address" address_moves
cm_pair "and has it" 20 "rping -s -a 10.80.0.2 -V -C 20 -S 4000" "rping -c -a 10.80.0.2 -V -C 20 -S 4000"
devices_go() { conf A | applied A && conf B | applied B && has_devices A roced0; }
check "devices are removed" devices_go
more_addresses() { conf A | applied A && conf B | applied B; }
third=1
check "a device that is used gets one more address" more_addresses
cm_pair "and has it, too" 20 "rping -s -a 10.81.0.2 -V -C 20 -S 4000" "rping -c -a 10.81.0.2 -V -C 20 -S 4000"
check "data flows on" flows_on

# ------------------------------------------------------------------ settings

peers() { MORE='multipath = { peers = [ "10.77.0.0/24" ]; scheduler = "reps"; evs = 16; }; congestion = { controller = "swift"; rate_mbps = 10000; };' conf "$1"; }
schedulers() { rocectl A paths >"$tmp_dir/paths.txt"; cat "$tmp_dir/paths.txt"; grep -q "$1" "$tmp_dir/paths.txt"; }
peers_come() { peers A | applied A && peers B | applied B && ! schedulers reps; }
check "peers, schedulers and controllers change for those who come" peers_come
new_ones() {
	local rc=0 server
	spawn_in B 20 "$tmp_dir/server2.log" ib_write_bw -d roced0 -x $V4 -F -D 2 -p 18600
	server=$spawned_pid
	wait_for 5 tcp_listens B 18600
	spawn_in A 20 "$tmp_dir/client2.log" ib_write_bw -d roced0 -x $V4 -F -D 2 -p 18600 "$SIDE_B"
	wait_for 5 schedulers reps || rc=1
	wait "$spawned_pid" "$server" || rc=1
	return $rc
}
check "which use them" new_ones
back_by_signal() {
	conf A >"$tmp_dir/roced-A.conf"
	kill -HUP "$roced_pid_A"
	wait_for 5 grep -q 'notice: reload: multipath.peers\["10.77.0.0/24"\]: removed' "$tmp_dir/roced-A.log" &&
		grep -q "notice: reload of $tmp_dir/roced-A.conf: applied" "$tmp_dir/roced-A.log" && conf B | applied B
}
check "SIGHUP: the file that it was started with, and the log tells" back_by_signal
wrong_by_signal() {
	echo 'ports = ( );' >"$tmp_dir/roced-A.conf"
	kill -HUP "$roced_pid_A"
	wait_for 5 grep -q 'error: reload: .*ports: has 0 entries, must have 1 to 8' "$tmp_dir/roced-A.log"
}
check "SIGHUP with a broken file: the log tells" wrong_by_signal
limit_holds() {
	MORE='limits = { max_qps = 1; };' conf B | applied B
	run_in B ibv_devinfo -v -d roced0 | grep -qE 'max_qp:[[:space:]]+1$' && conf B | applied B
}
check "a limit changes" limit_holds
rights() {
	KEYS='mode = "0600";' conf B | applied B && [ "$(stat -c %a "$tmp_dir/roced-B.sock")" = 600 ] && conf B | applied B &&
		[ "$(stat -c %a "$tmp_dir/roced-B.sock")" = 660 ]
}
check "the socket's rights change" rights
check "data flows on" flows_on

# ------------------------------------------------------------------ channels

mbps() { tail -n 1 "$tmp_dir/client.log" | awk '{print int($4 * 8 * 1.048576)}'; }
below() { [ "$(mbps)" -le "$1" ]; }
above() { [ "$(mbps)" -gt "$1" ]; }
channels_come() {
	MORE='channels = ( { name = "bulk"; ceiling_mbps = 8; } );' conf A | applied A && wait_for 8 below 9 && flows_on && below 9
}
check "a channel with a ceiling comes, and what flows obeys it" channels_come
channels_change() {
	MORE='channels = ( { name = "other"; strict = true; dscp = [ 40 ]; }, { name = "bulk"; dscp = [ 0 ]; ceiling_mbps = 4; } );' conf A | applied A &&
		wait_for 8 below 5 && flows_on && [ "$(channel bulk packets)" -gt 0 ] && [ "$(channel other packets)" -eq 0 ]
}
check "others come, and it goes by the one that is its now" channels_change
channels_go() { conf A | applied A && wait_for 8 above 10; }
check "they go" channels_go
rate_comes() {
	PORT_KEYS='rate_mbps = 8;' conf A | applied A && wait_for 8 below 9 && conf A | applied A && wait_for 8 above 10
}
check "a port gets a rate, and loses it" rate_comes

# ------------------------------------------------------------------ protection

secret() { MORE="protection = { psk_file = \"$tmp_dir/$1.psk\"; peers = ( { network = \"10.77.0.0/24\"; policy = \"$2\"; } ); };" conf "$1"; }
protection_comes() {
	secret A optional | applied A && secret B optional | applied B &&
		wait_for 10 told A sas "d['state'] == ['established']" && secret A required | applied A && secret B required | applied B && flows_on
}
check "what flows becomes protected" protection_comes
sent_protected() {
	local n
	n=$(told A sas True | python3 -c 'import ast, sys; print(ast.literal_eval(sys.stdin.read())["tx_packets"][0])')
	wait_for 5 told A sas "d['tx_packets'][0] > $n + 10"
}
check "and goes by its keys" sent_protected
handshakes() { told "$1" sas True | python3 -c 'import ast, sys; print(ast.literal_eval(sys.stdin.read())["handshakes"][0])'; }
other_key() {
	local n
	n=$(handshakes A)
	psk "$tmp_dir/A.psk" "$KEY2"
	psk "$tmp_dir/B.psk" "$KEY2"
	secret B required | reloads B 0 "protection: other keys or certificates in files" &&
		secret A required | reloads A 0 "protection: other keys or certificates in files" &&
		wait_for 10 told A sas "d['state'] == ['established'] and d['handshakes'][0] > $n" && flows_on
}
check "other pre-shared keys in the same files: keys are agreed on anew" other_key
no_such_key() {
	secret A required | sed 's/policy = /psk_id = "nobody"; &/' | reloads A 1 'has no line with the ID "nobody"'
}
check "a key that is not there: nothing changes" no_such_key
protection_goes() { conf A | applied A && conf B | applied B && flows_on && told A sas "d['associations'] == 0"; }
check "protection goes" protection_goes

# ------------------------------------------------------------------ the end

check "no queue pair has ended" sh -c "kill -0 $client_pid && kill -0 $server_pid"
end_pid "$client_pid"
end_pid "$server_pid"
forget_pid "$client_pid"
forget_pid "$server_pid"
stop_daemons
finish
