#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A client's memory may be mapped from a file system that the client serves itself, and then whoever reads it waits as
# long as that pleases. Workers must not: after a moment the file system's connection is ended and the user shut out.
# Reads of memory that a userfaultfd handles fail at once.
#
# usage: tests/e2e/stall.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1
stall="$build_dir/tests/tools/stall"

need ibv_devinfo
[ -c /dev/fuse ] || skip_all "there is no /dev/fuse"
# programs of users without rights go through the directory
chmod 711 "$tmp_dir"
wire_direct 4200
export CONTROL_KEYS='mode = "0666";'
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# tries UID HOW WHEN: sets said; within ten seconds
tries() {
	said=$(run_in A timeout -k 2 20 "$stall" "$2" "$3" roced0 $V4 "$1" 2>&1)
	echo "$said"
}

fault_at_once() { # UID WHEN RESULT
	local start=$SECONDS
	tries "$1" uffd "$2"
	[[ $said = $3 ]] && [ $((SECONDS - start)) -le 5 ] && ! grep -q "user $1 is shut out" "$tmp_dir/roced-A.log"
}

refused() { run_in A setpriv --reuid="$1" --regid="$1" --clear-groups ibv_devinfo 2>&1 | grep -q 'Permission denied'; }

# traps UID HOW WHEN: the user is shut out, in time, and everybody else is served
traps() {
	local start=$SECONDS
	tries "$1" "$2" "$3"
	echo "after $((SECONDS - start)) s"
	[ $((SECONDS - start)) -le 10 ] && grep "user $1 is shut out" "$tmp_dir/roced-A.log" &&
		refused "$1" && run_in A timeout 5 ibv_devinfo -d roced0 >/dev/null
}

check "userfaultfd, at registration" fault_at_once 54321 register "registered: Bad address"
check "userfaultfd, at a send" fault_at_once 54321 send $'sent:\nlocal protection error'
check "FUSE, at registration: the user is shut out" traps 54331 fuse register
check "FUSE, at a send: the user is shut out" traps 54332 fuse send
check "FUSE, slowly: the user is shut out" traps 54333 slow send

spawn_in A 40 "$tmp_dir/trap.log" "$stall" fuse send roced0 $V4 54334
trap_pid=$spawned_pid
verify "FUSE beside it: a bystander's data" 30 $V4 1024 -q 2 -s 65536
check "FUSE beside it: it was shut out meanwhile" wait_for 10 grep -q "user 54334 is shut out" "$tmp_dir/roced-A.log"
end_pid "$trap_pid"
forget_pid "$trap_pid"

roced_stop A
roced_stop B
finish
