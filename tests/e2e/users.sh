#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Users apart: the socket is for root and its group, and what one user's programs take is not missing to another's.
# Users and groups are numbers that exist only here.
#
# usage: tests/e2e/users.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

ALICE=54321 BOB=54322 STRANGER=54323 RDMA=54330
greedy="$build_dir/tests/tools/greedy"
socket=$tmp_dir/roced-A.sock

need setpriv ibv_devices ibv_devinfo
# programs of users without rights go through the directory
chmod 711 "$tmp_dir"
make_ns A
veth A port A end 4200
CONTROL_KEYS="group = \"$RDMA\";" MORE="user_limits = {
	max_sessions = 5; max_qps = 6; max_mrs = 7; max_pds = 9; max_cqs = 8; max_srqs = 3; max_mws = 4;
	registered_bytes = 5242880; ring_bytes = 1048576; };" \
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish

# as USER COMMAND...: with the socket's group; no_group USER COMMAND...: without it
as() { run_in A setpriv --reuid="$1" --regid="$1" --groups="$RDMA" "${@:2}"; }
no_group() { run_in A setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }

# ------------------------------------------------------------------ the socket

is_for_its_group() { [ "$(stat -c '%a %u %g' "$socket" | tee /dev/stderr)" = "660 0 $RDMA" ]; }

# Programs find out by EACCES, people by one line on standard error.
is_kept_out() {
	local out
	out=$(no_group $STRANGER "$@" 2>&1) && return 1
	echo "$out"
	[ "$(grep -c "$socket: Permission denied" <<<"$out")" = 1 ] && grep -q "group" <<<"$out" &&
		! grep -q roced0 <<<"$out"
}

sees_device() { "$@" ibv_devices | grep -q roced0 && "$@" ibv_devinfo -d roced0 | grep -q 'state:[[:space:]]*PORT_ACTIVE'; }

check "the socket is for root and its group" is_for_its_group
check "a user without the group: ibv_devices" is_kept_out ibv_devices
check "a user without the group: ibv_devinfo" is_kept_out ibv_devinfo
check "a user without the group: a program" is_kept_out "$greedy" roced0 qps
check "a user with the group" sees_device as $ALICE
check "a user whose own group it is" sees_device run_in A setpriv --reuid=$ALICE --regid=$RDMA --clear-groups
check "root" sees_device run_in A

unknown_group() {
	CONTROL_KEYS='group = "no-such-group";' roced_config roced-X "$(af_packet_device port)" 4096 4200 "$A4/24" \
		>"$tmp_dir/wrong.conf"
	! "$roced_bin" -c "$tmp_dir/wrong.conf" --check >"$tmp_dir/wrong.log" 2>&1
	cat "$tmp_dir/wrong.log"
	grep -q "wrong.conf:2: control.group: \"no-such-group\" is wrong, must be the name of a group" "$tmp_dir/wrong.log"
}
check "an unknown group is an error of the file" unknown_group

# ------------------------------------------------------------------ limits

# holds USER KIND: a program that has all it can get, until let_go; sets said
holds() {
	local log="$tmp_dir/holds-$1-$2.log"
	mkfifo "$log.in"
	ip netns exec "$(ns A)" timeout -k 2 60 "$roced_run_bin" --socket "$socket" \
		setpriv --reuid="$1" --regid="$1" --groups=$RDMA "$greedy" roced0 "$2" >"$log" 2>"$log.err" <"$log.in" &
	pids+=("$!")
	exec {hold}>"$log.in"
	wait_for 20 grep -q : "$log" || { cat "$log" "$log.err"; return 1; }
	said=$(cat "$log")
	echo "user $1, $2: $said"
}

let_go() { exec {hold}>&-; wait "${pids[-1]}"; unset 'pids[-1]'; rm -f "$tmp_dir"/holds-*.in; }

limit_logged() { grep -q "user $ALICE is at its limit of $1" "$tmp_dir/roced-A.log"; }

# one KIND LIMIT MOST WHAT: the user gets MOST in one program, no other program of it gets any, another user gets as many
one() {
	local kind=$1 limit=$2 most=$3 first=$hold
	holds $ALICE "$kind" || return 1
	first=$hold
	[ "$said" = "$most of $limit: Cannot allocate memory" ] || return 1
	holds_none "$kind" && as_many "$kind" "$said"
	local rc=$?
	exec {first}>&-
	wait "${pids[-1]}"
	unset 'pids[-1]'
	rm -f "$tmp_dir"/holds-*.in
	[ $rc -eq 0 ] && limit_logged "$4"
}

holds_none() {
	local out
	out=$(as $ALICE "$greedy" roced0 "$1" </dev/null 2>&1)
	echo "a second program: $out"
	[[ $out = "0 of "*": Cannot allocate memory" || $out = *"the first objects: Cannot allocate memory"* ]]
}

as_many() {
	local out
	out=$(as $BOB "$greedy" roced0 "$1" </dev/null 2>&1)
	echo "another user: $out"
	[ "$out" = "$2" ]
}

hold=
check "limit: queue pairs" one qps 6 6 "6 queue pairs (user_limits.max_qps)"
check "limit: memory regions" one mrs 7 7 "7 memory regions"
check "limit: memory windows" one mws 4 4 "4 memory windows"
check "limit: protection domains" one pds 9 8 "9 protection domains"
check "limit: completion queues" one cqs 8 7 "8 completion queues"
check "limit: shared receive queues" one srqs 3 3 "3 shared receive queues"
check "limit: registered bytes" one bytes 0 5 "5242880 registered bytes"

# A program that opens devices without end gets EAGAIN; another user opens its own.
sessions() {
	local out
	out=$(as $ALICE "$greedy" roced0 sessions </dev/null) || return 1
	echo "$out"
	[ "$out" = "4 of 0: Resource temporarily unavailable" ] && as_many sessions "$out" && limit_logged "5 sessions"
}
check "limit: sessions" sessions

counted() {
	kill -USR1 "$roced_pid_A"
	wait_for 5 grep -qE ' at_limit [1-9]' "$tmp_dir/roced-A.log"
}
check "limits that were met are counted" counted
check "afterwards the user is served" sees_device as $ALICE

roced_stop A
finish
