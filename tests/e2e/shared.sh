#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs on shared memory (roced-run --shared), unmodified: the daemons copy to and from it directly, the data is
# right, children and other programs that they start work; and clients that take such memory away harm nobody.
#
# usage: tests/e2e/shared.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/hugepages.sh"

# GID indices: 0 is the link-local one, then the addresses in the order of the configuration.
V4=1 V6=2
GID_A=00000000000000000000ffff0a4d0001

need ss rping ib_write_bw ibv_rc_pingpong
wire_direct 4200
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# counter NS NAME: what the daemon counts now
counter() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "${!var}" || return 1
	wait_for 3 eval "tail -n +$at '$log' | grep -q 'map_faults'"
	tail -n "+$at" "$log" | grep -o -m 1 "\\b$2 [0-9]*" | cut -d' ' -f2
}

mapped_since() { # BEFORE-A BEFORE-B: regions were mapped at both ends
	echo "regions mapped: A $1 -> $(counter A regs_mapped), B $2 -> $(counter B regs_mapped)"
	[ "$(counter A regs_mapped)" -gt "$1" ] && [ "$(counter B regs_mapped)" -gt "$2" ]
}

# shared NAME PAIR-ARGUMENTS...: the pair works, and on shared memory
shared() {
	local a b kind=$1 name=$2
	shift
	wanted "$name" || return 0
	a=$(counter A regs_mapped) b=$(counter B regs_mapped)
	RUN_OPTIONS=${how:---shared} "$kind" "$@"
	check "$name: its memory is mapped" mapped_since "$a" "$b"
}

for huge in "" " --use_hugepages"; do
	# shellcheck disable=SC2086
	{
		shared perftest "ib_write_bw$huge" 25 ib_write_bw $V4 -n 500 $huge
		shared perftest "ib_read_bw$huge" 25 ib_read_bw $V6 -n 500 $huge
		shared perftest "ib_send_lat$huge" 25 ib_send_lat $V4 -n 300 $huge
		shared perftest "ib_atomic_bw$huge" 25 ib_atomic_bw $V6 -n 300 $huge
	}
done

# While one runs, the pages of its regions are the daemon's too.
huge_pages_mapped() {
	local client rc=1
	spawn_in B 20 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 5 --use_hugepages
	server_settles B ib_write_bw
	spawn_in A 20 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 5 --use_hugepages $SIDE_B
	client=$spawned_pid
	wait_for 4 huge_kb "${roced_pid_A:?}" && wait_for 4 huge_kb "${roced_pid_B:?}" && rc=0
	grep -H Hugetlb "/proc/$roced_pid_A/smaps_rollup" "/proc/$roced_pid_B/smaps_rollup"
	wait "$client" || rc=$?
	return $rc
}
huge_kb() { awk '/Hugetlb/ { sum += $2 } END { exit sum == 0 }' "/proc/$1/smaps_rollup"; }
if pages_take 64; then
	RUN_OPTIONS=--shared check "ib_write_bw in huge pages: the daemons have them mapped" huge_pages_mapped
else
	skip "ib_write_bw in huge pages" "the kernel gives no 64 pages of 2 MB"
fi
pages_restore
shared perftest "ib_write_bw, 2 B to 8 MiB, 4 queue pairs" 60 ib_write_bw $V4 -a -n 10 -q 4
for size in 4096 1000000; do
	shared pair "ibv_rc_pingpong, $size bytes, data checked" 25 \
		B "ibv_rc_pingpong -d roced0 -g $V4 -c -n 100 -s $size" \
		A "ibv_rc_pingpong -d roced0 -g $V4 -c -n 100 -s $size $SIDE_B"
done
# of its regions the data's are mapped, and those in its own small structures are not
how=--shared=4096
shared cm_pair "rping, data checked" 20 "rping -s -a $B4 -V -C 50 -S 60000" "rping -c -a $B4 -V -C 50 -S 60000"
how=
RUN_OPTIONS=--shared verify "every byte and completion" 25 $V6 1024 -q 4 -s 65536

# One end shares its memory, the other does not.
mixed() {
	spawn_in B 25 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -n 500
	local pid=$spawned_pid rc
	server_settles B ib_write_bw
	RUN_OPTIONS=--shared run_in A timeout -k 2 25 ib_write_bw -d roced0 -x $V4 -F -n 500 $SIDE_B
	rc=$?
	wait "$pid" && [ $rc -eq 0 ]
	rc=$?
	forget_pid "$pid"
	return $rc
}
check "one end only" mixed

# ------------------------------------------------------------------ a program's children

children() {
	RUN_OPTIONS=--shared run_in A timeout -k 2 30 python3 - <<-'END'
		import os, subprocess
		big = bytearray(1 << 20); big[5] = 7
		assert subprocess.run(["sh", "-c", "echo a | cat"], capture_output=True).stdout == b"a\n"
		assert os.popen("echo b").read() == "b\n" and os.system("exit 3") == 3 << 8
		pid = os.fork()
		if pid == 0:
		    ok = big[5] == 7
		    big[5] = 8
		    more = bytearray(1 << 20)
		    os._exit(0 if ok and not any(more) else 1)
		assert os.waitpid(pid, 0)[1] == 0 and big[5] == 7
		os.execvp("sh", ["sh", "-c", "ibv_devinfo -d roced0 | grep -q PORT_ACTIVE"])
	END
}
check "system(), popen(), fork() and exec() under shared memory" children

# ------------------------------------------------------------------ clients that take it away

hostile_ends() {
	ip netns exec "$(ns A)" timeout 60 "$build_dir/tests/tools/hostile_client" "$tmp_dir/roced-A.sock" $GID_A 5 \
		"${SEED:-1}" memfds
}
all_unmapped() { [ "$(counter "$1" mrs_mapped)" = 0 ]; }

before=$(counter A regs_mapped)
check "files of all kinds offered, pages taken away while data flows" hostile_ends
check "their memory was mapped" [ "$(counter A regs_mapped)" -gt "$before" ]
check "no mapping is left, A" wait_for 5 all_unmapped A
check "no mapping is left, B" wait_for 5 all_unmapped B
RUN_OPTIONS=--shared verify "afterwards: every byte" 20 $V4 1024 -q 2 -s 65536

roced_stop A
roced_stop B
finish
