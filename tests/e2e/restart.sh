#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The daemon ends under its programs, by SIGTERM and by SIGKILL, and starts again (docs/restart.md): what waits wakes,
# what calls gets an error, whoever opens the device again is served, and peers hear of an orderly end at once.
#
# usage: tests/e2e/restart.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1
restart="$build_dir/tests/tools/restart"

need ss rping ib_write_bw ib_send_lat ibv_rc_pingpong
wire_direct 4200
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# kill_daemon NS SIGNAL; roced_pid_NS is empty then
kill_daemon() {
	local var=roced_pid_$1
	kill "-$2" "${!var}"
	wait "${!var}" 2>/dev/null
	forget_pid "${!var}"
	eval "$var="
}

# A case that failed early may have left it alive.
revive() { [ -n "$roced_pid_A" ] || roced_launch A || finish; }

# ------------------------------------------------------------------ one program, from daemon to daemon

outlives() { # SIGNAL
	local log="$tmp_dir/outlive-$1.log" pid rc=0
	rm -f "$log.in"
	mkfifo "$log.in"
	ip netns exec "$(ns A)" timeout -k 2 60 "$roced_run_bin" --socket "$tmp_dir/roced-A.sock" \
		"$restart" roced0 $A4 >"$log" 2>"$log.err" <"$log.in" &
	pid=$!
	pids+=("$pid")
	exec {line}>"$log.in"
	wait_for 20 grep -q ready "$log" || { cat "$log.err"; return 1; }
	kill_daemon A "$1"
	wait_for 10 grep -q gone "$log" || { cat "$log" "$log.err"; rc=1; }
	roced_launch A || return 1
	echo go >&"$line"
	exec {line}>&-
	wait "$pid" || rc=1
	forget_pid "$pid"
	cat "$log" "$log.err"
	[ $rc -eq 0 ] && grep -q again "$log"
}

check "SIGTERM: all that waits wakes, all calls fail, the next daemon serves" outlives TERM
check "SIGKILL: the same" outlives KILL

# ------------------------------------------------------------------ peers

# peers SIGNAL: sets ended to what the peer in B saw of the end of A's daemon, and took to how long in ms
peers() {
	local server client start
	spawn_in B 60 "$tmp_dir/wait.log" "$restart" wait $B4 7600
	server=$spawned_pid
	wait_for 5 daemon_counts B cm_listeners
	spawn_in A 60 "$tmp_dir/peer.log" "$restart" peer $B4 7600
	client=$spawned_pid
	wait_for 20 grep -q connected "$tmp_dir/wait.log" && wait_for 20 grep -q connected "$tmp_dir/peer.log" ||
		{ cat "$tmp_dir"/wait.log* "$tmp_dir"/peer.log*; return 1; }
	start=$(date +%s%3N)
	kill_daemon A "$1"
	wait_for 10 grep -q RDMA_CM "$tmp_dir/wait.log"
	took=$(($(date +%s%3N) - start))
	ended=$(tail -n 1 "$tmp_dir/wait.log")
	wait "$client"
	forget_pid "$client"
	end_pid "$server"
	forget_pid "$server"
	echo "there: $ended after $took ms, here: $(tail -n 1 "$tmp_dir/peer.log")"
	grep -q DEVICE_REMOVAL "$tmp_dir/peer.log"
}

# The daemon's own end takes a moment after the disconnects have left.
peer_hears() { peers TERM && [ "$ended" = RDMA_CM_EVENT_DISCONNECTED ] && [ $took -lt 5000 ]; }

check "SIGTERM: peers see a disconnect" peer_hears
revive

# ------------------------------------------------------------------ programs as they are

# both_end SECONDS SIGNAL 'SERVER' 'CLIENT': both run until the client's daemon is killed; the client must end with an
# error within five seconds. Where the server hears of it, it must end within SECONDS too; 0: nobody tells it, and it
# may wait for its peer as after a loss of power
both_end() {
	local limit=$1 signal=$2 server_pid client_pid
	# shellcheck disable=SC2086
	spawn_in B 100 "$tmp_dir/server.log" $3
	server_pid=$spawned_pid
	# shellcheck disable=SC2086
	server_settles B $3
	# shellcheck disable=SC2086
	spawn_in A 100 "$tmp_dir/client.log" $4
	client_pid=$spawned_pid
	sleep 2
	kill -0 "$client_pid" && kill -0 "$server_pid" || { cat "$tmp_dir"/{server,client}.log*; return 1; }
	kill_daemon A "$signal"
	ends_badly "$client_pid" 5 client || return 1
	if [ "$limit" -gt 0 ]; then
		wait_for "$limit" eval "! kill -0 $server_pid 2>/dev/null" || { echo "the server is still there"; return 1; }
		wait "$server_pid"
		echo "server: status $?"
	else
		end_pid "$server_pid"
	fi
	forget_pid "$server_pid"
}

ends_badly() { # PID SECONDS WHO
	local start=$SECONDS rc
	if ! wait_for "$2" eval "! kill -0 $1 2>/dev/null"; then
		echo "$3: still there after $2 s"
		tail -n 5 "$tmp_dir/$3.log" "$tmp_dir/$3.log.err"
		end_pid "$1"
		forget_pid "$1"
		return 1
	fi
	wait "$1"
	rc=$?
	forget_pid "$1"
	echo "$3: status $rc after $((SECONDS - start)) s: $(tail -n 1 "$tmp_dir/$3.log.err")"
	[ $rc -ne 0 ]
}

# program NAME SECONDS-AFTER-KILL SECONDS-AFTER-TERM 'SERVER' 'CLIENT' 'SERVER AFTERWARDS' 'CLIENT AFTERWARDS'
program() {
	check "$1: SIGKILL under it" both_end "$2" KILL "$4" "$5"
	revive
	check "$1: SIGTERM under it" both_end "$3" TERM "$4" "$5"
	revive
	pair "$1: works again" 20 B "$6" A "$7"
}

wr="ib_write_bw -d roced0 -x $V4 -F"
program "ib_write_bw" 10 10 "$wr -D 60" "$wr -D 60 $SIDE_B" "$wr -n 1000" "$wr -n 1000 $SIDE_B"
lat="ib_send_lat -d roced0 -x $V4 -F -e"
program "ib_send_lat, events" 0 0 "$lat -n 9000000" "$lat -n 9000000 $SIDE_B" "$lat -n 1000" "$lat -n 1000 $SIDE_B"
program "rping" 0 10 "rping -s -a $B4 -p 7601" "rping -c -a $B4 -p 7601" \
	"rping -s -a $B4 -p 7602 -V -C 10" "rping -c -a $B4 -p 7602 -V -C 10"

roced_stop A
roced_stop B
finish
