#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ordinary programs on the client libraries that die at any instant, become another program, leave their objects to a
# child, or lose their descriptors. (hostile.sh has clients that break the contract itself.) Whatever they had must be
# gone with them, and the data of a bystander stays right.
#
# usage: tests/e2e/death.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs,
#                                 SEED=N other instants)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1
DEATHS=600
mortal="$build_dir/tests/tools/mortal"
life="roced0 $V4 $A4"

need ss
wire_direct 4200
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# The last of what the daemon said about its objects, and about the memory they take.
objects() {
	local log="$tmp_dir/roced-A.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "$roced_pid_A" || return 1
	wait_for 3 eval "tail -n +$at '$log' | grep -q 'verbs: sessions .* requests '"
	tail -n "+$at" "$log" | grep 'verbs: sessions '
}

descriptors() { ls "/proc/$roced_pid_A/fd" | wc -l; }

all_gone() { # DESCRIPTORS: no object is left, and no more descriptors than there were
	objects | tee "$tmp_dir/objects.log" |
		grep -qE 'sessions 0( [a-z_]+ 0)+ requests ' &&
		[ "$(descriptors)" -le "$1" ]
}

gone() { # DESCRIPTORS
	wait_for 5 all_gone "$1" && return
	cat "$tmp_dir/objects.log"
	echo "descriptors: $(descriptors), before: $1"
	return 1
}

# Deaths in all parts of a life.
killed_everywhere() {
	wait "$mortal_pid" || { cat "$tmp_dir"/kill.log*; return 1; }
	forget_pid "$mortal_pid"
	cat "$tmp_dir/kill.log"
	! grep -qE '(setup|transfer|connect|teardown) 0( |$)' "$tmp_dir/kill.log" && grep -q killed "$tmp_dir/kill.log"
}

fds=$(descriptors)
# shellcheck disable=SC2086
spawn_in A 40 "$tmp_dir/kill.log" $mortal kill $life $DEATHS "${SEED:-1}"
mortal_pid=$spawned_pid
verify "$DEATHS deaths: a bystander's data" 30 $V4 1024 -q 2 -s 65536
check "$DEATHS deaths: in all parts of a life" killed_everywhere
check "$DEATHS deaths: everything is gone" gone "$fds"

# starts HOW: until the program has said "done"; it, or its child or what it became, is still there
starts() {
	# shellcheck disable=SC2086
	spawn_in A 30 "$tmp_dir/$1.log" $mortal "$1" $life
	wait_for 10 grep -q done "$tmp_dir/$1.log" || { cat "$tmp_dir/$1".log*; return 1; }
}

still_runs() { ip netns pids "$(ns A)" | xargs -I{} cat /proc/{}/comm 2>/dev/null | grep -qx "$1"; }

# ended HOW COMMAND: everything is gone while that command runs
ended() { starts "$1" && gone "$fds" && still_runs "$2"; }

# The library's own thread waits at the socket, which the kernel keeps until then: its objects live as long as the
# program does.
closed() { # close|dup
	starts "$1" && still_runs mortal || return 1
	end_pid "$spawned_pid"
	gone "$fds"
}

check "exec(): everything of the old program is gone while the new one runs" ended exec sleep
check "fork(): everything is gone with the parent while the child goes on" ended fork mortal
check "closed descriptors: the program goes on, and everything is gone with it" closed close
check "replaced descriptors: the same" closed dup
check "a child that uses its parent's objects does not disturb the parent" ended child mortal

verify "afterwards: a bystander's data" 20 $V4 1024 -q 2 -s 65536
roced_stop A
roced_stop B
finish
