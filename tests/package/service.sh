#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The daemon as a service: without root and with just the capabilities that roced.service gives it, on each kind of port; what it
# tells the service manager; its lines in the journal. The manager itself is the matter of deb.sh.
#
# usage: tests/package/service.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2317,SC2086
. "$(dirname "$0")/../lib/common.sh"

SERVICE=54340 ALICE=54321
V4=1
unit=$repo_dir/packaging/roced.service.in
xdp_unit=$repo_dir/packaging/af_xdp-service.conf
stall="$build_dir/tests/tools/stall"
daemon=$roced_bin
CONTROL_KEYS='mode = "0666";'
# The driver of DPDK 22.11 does not free what libbpf and libxdp give it, and that is all a leak check finds.
printf 'leak:%s\n' xsk_umem__create libbpf.so >"$tmp_dir/leaks"
export LSAN_OPTIONS=suppressions=$tmp_dir/leaks:print_suppressions=0:${LSAN_OPTIONS:-}

need setpriv python3 ibv_devinfo ibv_rc_pingpong
# the daemon's user makes its files there, and users' programs go through it
chmod 1777 "$tmp_dir"

# ------------------------------------------------------------------ rights

# ambient FILE...: "net_admin,net_raw", the capabilities that units give
ambient() { sed -n 's/^AmbientCapabilities=//p' "$@" | tr ' ' '\n' | sed 's/^CAP_//' | tr 'A-Z\n' 'a-z,' | sed 's/,$//'; }
rights=$(ambient "$unit")

# less RIGHT: those of the unit without one
less() { tr ',' '\n' <<<"$rights" | grep -vx "$1" | paste -sd,; }

# with_rights RIGHTS [COMMAND]: daemons from now on are of a user of their own with these rights, and none to be had later;
# COMMAND is run before
with_rights() {
	local plus=+${1//,/,+}
	cat >"$tmp_dir/roced-service" <<-END
		#!/bin/sh
		${2:-}
		export RUNTIME_DIRECTORY=$tmp_dir
		ulimit -l 64 # as many kilobytes may be locked by who has no right to lock more
		exec setpriv --reuid=$SERVICE --regid=$SERVICE --clear-groups --no-new-privs --bounding-set=-all,$plus \
			--inh-caps=-all,$plus --ambient-caps=-all,$plus $daemon "\$@"
	END
	chmod 755 "$tmp_dir/roced-service"
	roced_bin=$tmp_dir/roced-service
}

# As the kernel counts them: no other capability, effective or to be had, and no user that is root.
has_only() { # NS RIGHTS
	local var=roced_pid_$1 mask=0 right number
	for right in ${2//,/ }; do
		number=$(sed -n "s/^#define CAP_${right^^}[[:space:]]*\([0-9]*\)$/\1/p" /usr/include/linux/capability.h)
		mask=$((mask | 1 << number))
	done
	mask=$(printf '%016x' "$mask")
	grep -E '^(Uid|Cap(Eff|Prm|Bnd))' "/proc/${!var}/status"
	[ "$(grep -cE "^Cap(Eff|Prm|Bnd):[[:space:]]$mask" "/proc/${!var}/status")" = 3 ] &&
		grep -qE "^Uid:([[:space:]]$SERVICE){4}" "/proc/${!var}/status"
}

as_alice() { echo "setpriv --reuid=$ALICE --regid=$ALICE --clear-groups $*"; }

# both NAME DEVICE PATH_MTU PORT_MTU: two daemons; programs of a user and of root go through them
both() {
	local name=$1 program="ibv_rc_pingpong -d roced0 -g $V4 -n 200 -c"
	wanted "$name" || return 0
	roced_start A "${2//ROLE/server}" "$3" "$4" "$A4/24" && roced_start B "${2//ROLE/client}" "$3" "$4" "$B4/24" || return 1
	check "$name: rights are those of the unit" has_only A "$5"
	[[ $2 != *memif* ]] || wait_for 10 run_in A sh -c 'ibv_devinfo -d roced0 | grep -q PORT_ACTIVE'
	pair "$name: a user's programs" 15 B "$(as_alice "$program")" A "$(as_alice "$program $SIDE_B")"
	pair "$name: root's programs" 15 B "$program" A "$program $SIDE_B"
	roced_stop A
	roced_stop B
}

sees_device() { run_in A setpriv --reuid=$ALICE --regid=$ALICE --clear-groups ibv_devinfo -d roced0 | grep -q 'PORT_ACTIVE'; }

tap() {
	wanted tap || return 0
	roced_start A "net_tap0,iface=roce0" 1024 1500 "$A4/24" || return 1
	check "tap: rights are those of the unit" has_only A "$rights"
	check "tap: a user sees the device" wait_for 5 sees_device
	roced_stop A
}

# fails_without RIGHT: the daemon does not start, and says at which port
fails_without() {
	with_rights "$(less "$1")"
	roced_config roced-A "$(af_packet_device port)" 4096 4200 "$A4/24" >"$tmp_dir/roced-A.conf"
	in_ns A timeout 20 "$roced_bin" -c "$tmp_dir/roced-A.conf" -f >"$tmp_dir/roced-A.log" 2>&1
	[ $? = 1 ] && grep 'error: port "p0": ' "$tmp_dir/roced-A.log" && grep 'error: not started' "$tmp_dir/roced-A.log"
}

# refuses_without RIGHT: it serves nobody of another user, and the log says what is missing
refuses_without() {
	with_rights "$(less "$1")"
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" || return 1
	! sees_device && grep "no access to the memory of process .* of user $ALICE" "$tmp_dir/roced-A.log" | grep -i "cap_$1"
	local rc=$?
	roced_stop A
	return $rc
}

# Without CAP_SYS_ADMIN the daemon cannot mount what ends file systems of users, and takes the system's.
file_system_of_a_user() {
	wanted "a user's file system" || return 0
	[ -c /dev/fuse ] || { skip "a user's file system" "there is no /dev/fuse"; return 0; }
	with_rights "$rights" "mount -t fusectl none /sys/fs/fuse/connections || exit 1"
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" || return 1
	run_in A timeout -k 2 20 "$stall" fuse register roced0 $V4 $ALICE >"$tmp_dir/stall.log" 2>&1
	if grep -q "user $ALICE is shut out.*FUSE connections ended: [1-9]" "$tmp_dir/roced-A.log"; then
		pass "a user's file system that keeps workers waiting is ended"
	else
		fail "a user's file system that keeps workers waiting is ended" "$tmp_dir/stall.log" "$tmp_dir/roced-A.log"
	fi
	roced_stop A
}

wire_direct 4200
with_rights "$rights"
both "af_packet" "$(af_packet_device port)" 4096 4200 "$rights"
both "memif" "net_memif0,role=ROLE,socket=$tmp_dir/memif.sock,socket-abstract=no,bsize=2176" 1024 1500 "$rights"
tap
SERVICE=0
with_rights "$rights"
both "root of a container, af_packet" "$(af_packet_device port)" 4096 4200 "$rights"
SERVICE=54340
for right in net_admin net_raw ipc_lock; do
	check "af_packet needs $right" fails_without $right
done
for right in sys_ptrace dac_override; do
	check "other users' programs need $right, and the log says so" refuses_without $right
done
file_system_of_a_user

if [ -e "$build_dir/drivers/bpf/xdp_roce.bpf.o" ] && python3 -c 'import socket; socket.socket(44, socket.SOCK_RAW)' 2>/dev/null; then
	for n in A B; do ip -n "$(ns $n)" link set dev port mtu 3200; done
	with_rights "$(ambient "$unit" "$xdp_unit")"
	both "af_xdp" "net_af_xdp0,iface=port,force_copy=1" 2048 3200 "$(ambient "$unit" "$xdp_unit")"
else
	skip "af_xdp" "no AF_XDP sockets, or built without an XDP program"
fi

# ------------------------------------------------------------------ the service manager

said=$tmp_dir/notify.log
export NOTIFY_SOCKET=$tmp_dir/notify.sock
python3 "$repo_dir/tests/tools/notify_listen.py" "$NOTIFY_SOCKET" >"$said" 2>&1 &
pids+=("$!")
wait_for 10 grep -q listening "$said"
with_rights "$rights"
export WATCHDOG_USEC=10000000

count() { grep -c "$1" "$said"; }
says() { wait_for 10 grep -q "$1" "$said" || { cat "$said"; false; }; }
more_signs() { local n; n=$(count WATCHDOG=1); wait_for 10 sh -c "[ \$(grep -c WATCHDOG=1 '$said') -ge $((n + 2)) ]"; }
warned() { grep "give WatchdogSec=3 or more" "$tmp_dir/roced-A.log"; }

roced_start A net_ring0 1024 1500 "$A4/24" || finish
check "the manager is told: ready" says '^READY=1 | STATUS=1 of 1 port up, 1 device, 0 connections of programs$'
check "the manager is told: nothing before" sh -c "sed -n 2p '$said' | grep READY=1"
check "the manager is told: it lives" more_signs
check "no warning of a watchdog of 10 s" sh -c "! grep WatchdogSec '$tmp_dir/roced-A.log'"
spawn_in A 20 "$tmp_dir/client.log" "$(command -v ibv_rc_pingpong)" -d roced0 -g $V4
check "the manager is told: a program has come" says '^STATUS=1 of 1 port up, 1 device, 1 connection of programs$'
end_pid "$spawned_pid"
forget_pid "$spawned_pid"
check "the manager is told: and gone" says '^STATUS=1 of 1 port up, 1 device, 0 connections of programs$'
reload_told() {
	kill -HUP "$roced_pid_A"
	says '^RELOADING=1 | STATUS=reading the configuration again | MONOTONIC_USEC=[1-9][0-9]*$' &&
		wait_for 10 sh -c "sed '1,/RELOADING/d' '$said' | grep -q '^READY=1 '"
}
check "the manager is told: reloading, and ready again" reload_told
roced_stop A
check "the manager is told: stopping" says '^STOPPING=1'
WATCHDOG_USEC=1000000 roced_start A net_ring0 1024 1500 "$A4/24" && check "a watchdog of 1 s is too quick, the log says so" warned
roced_stop A
unset WATCHDOG_USEC NOTIFY_SOCKET

# ------------------------------------------------------------------ the journal

# journaled FILE COMMAND...: with standard error in FILE, which JOURNAL_STREAM names as the journal
journaled() {
	local file=$1
	shift
	: >"$file"
	JOURNAL_STREAM=$(stat -c '%d:%i' "$file") "$@" 2>"$file"
}

roced_config roced-A net_ring0 1024 1500 "$A4/24" >"$tmp_dir/roced-A.conf"
levels() { # every line has a level, DPDK's too, and nothing is said twice
	local pid
	journaled "$tmp_dir/journal" "$daemon" -c "$tmp_dir/roced-A.conf" -f >"$tmp_dir/out" &
	pid=$!
	pids+=("$pid")
	wait_for 20 grep -q ready "$tmp_dir/out"
	kill "$(pgrep -P "$pid")"
	wait "$pid"
	forget_pid "$pid"
	cat "$tmp_dir/journal"
	! grep -vE '^<[0-7]>' "$tmp_dir/journal" && grep -q '^<6>ending on signal 15$' "$tmp_dir/journal" &&
		[ -z "$(sort "$tmp_dir/journal" | uniq -d)" ]
}
dpdk_level() { # of the EAL's own lines
	sed 's/"--no-huge"/"--no-huge", "--no-such-option"/' "$tmp_dir/roced-A.conf" >"$tmp_dir/wrong.conf"
	journaled "$tmp_dir/journal" "$daemon" -c "$tmp_dir/wrong.conf" -f
	cat "$tmp_dir/journal"
	grep -q '^<3>.*EAL: .*FATAL\|^<3>EAL: ' "$tmp_dir/journal" && grep -q '^<3>not started: ' "$tmp_dir/journal"
}
config_errors() {
	echo 'ports = ( { nmae = "p0"; } );' >"$tmp_dir/wrong.conf"
	journaled "$tmp_dir/journal" "$daemon" -c "$tmp_dir/wrong.conf" -f
	cat "$tmp_dir/journal"
	grep -q "^<3>$tmp_dir/wrong.conf:1: " "$tmp_dir/journal" && ! grep -v '^<3>' "$tmp_dir/journal"
}
not_ours() { # the variable is another program's: people read words
	JOURNAL_STREAM=1:2 "$daemon" -c "$tmp_dir/wrong.conf" -f 2>"$tmp_dir/journal"
	cat "$tmp_dir/journal"
	grep -q '^roced: ' "$tmp_dir/journal" && ! grep '^<' "$tmp_dir/journal"
}
check "the journal gets levels" levels
check "the journal gets levels of DPDK's lines" dpdk_level
check "the journal gets errors of the configuration as such" config_errors
check "standard error that is not the journal gets words" not_ours
finish
