#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Our rsockets against rdma-core's: rstream, riostream and rcopy over roced here, and over Soft-RoCE with Debian's own
# librdmacm in the guest; each as server and as client.
#
# Datagrams are left out: udpong needs the kernel's UDP beside RoCE between the same two addresses, and the guest's
# kernel has them on one interface, whose other end is roced's.
#
# usage: tests/interop/rsockets.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

need ss rstream riostream rcopy qemu-system-x86_64 busybox cpio depmod
guest build >"$tmp_dir/guest.log" 2>&1 || skip_all "no guest image: $(tail -n 1 "$tmp_dir/guest.log")"

make_ns A
ip -n "$(ns A)" tuntap add roce mode tap
guest_start peer --netns "$(ns A)" --nic "tap=roce,mtu=4200,addr=$B4/24+$B6/64" ||
	{ fail "the guest boots" "$tmp_dir/guest.log" "$tmp_dir/peer.console"; finish; }
roced_start A "$(af_packet_device roce)" 4096 4200 "$A4/24" "$A6/64" || finish

in_guest() { guest exec --timeout "$1" peer "${@:2}"; }
guest_listens() { in_guest 5 "rdma resource show cm_id | grep -q LISTEN"; }

# guest_serves NAME 'SERVER' 'CLIENT': the server in the guest, the client on roced
guest_serves() {
	local name="$1, roced is client" crc src
	wanted "$name" || return 0
	guest spawn --timeout 40 peer server "$2" || { fail "$name: the guest answers"; finish; }
	wait_for 5 guest_listens
	# shellcheck disable=SC2086
	run_in A timeout -k 2 40 $3 >"$tmp_dir/client.log" 2>"$tmp_dir/client.log.err"
	crc=$?
	[ $crc -eq 0 ] || in_guest 5 "killall ${2%% *}" >/dev/null 2>&1
	guest wait --timeout 40 peer server >"$tmp_dir/server.log" 2>&1
	src=$?
	verdict "$name" $src $crc
}

# guest_calls NAME 'SERVER' 'CLIENT': the server on roced, the client in the guest
guest_calls() {
	local name="$1, roced is server" crc src server
	wanted "$name" || return 0
	# shellcheck disable=SC2086
	spawn_in A 40 "$tmp_dir/server.log" $2
	server=$spawned_pid
	wait_for 5 daemon_counts A cm_listeners
	rm -f "$tmp_dir/client.log.err"
	in_guest 40 "$3" >"$tmp_dir/client.log" 2>&1
	crc=$?
	[ $crc -eq 0 ] || kill -TERM "$server" 2>/dev/null
	wait "$server"
	src=$?
	forget_pid "$server"
	verdict "$name" $src $crc
}

# stream 'PROGRAM options' [6]: both ways
stream() {
	local guest_addr=$B4 our_addr=$A4
	[ "${2:-4}" = 6 ] && guest_addr=$B6 our_addr=$A6
	guest_serves "$1, IPv${2:-4}" "$1 -b $guest_addr" "$1 -s $guest_addr"
	guest_calls "$1, IPv${2:-4}" "$1 -b $our_addr" "$1 -s $our_addr"
}

stream "rstream -T b -T v -C 50 -S 1000"
stream "rstream -T b -T v -C 20 -S 100000"
stream "rstream -T b -T v -C 20 -S 5000" 6
# rdma-core's rpoll() tells of the end while there are bytes to read, and its rstream takes that for a failure: with
# -T a it can only be the one that ends first.
guest_serves "rstream -T a -T v -C 20 -S 5000, IPv6" "rstream -T a -T v -C 20 -S 5000 -b $B6" \
	"rstream -T a -T v -C 20 -S 5000 -s $B6"
stream "rstream -T n -T v -I 20 -C 10 -S 64"
stream "rstream -B 8192 -T b -T v -I 3 -C 200 -S 3000"
stream "riostream -T b -T v -C 20 -S 1000"
stream "riostream -T n -T v -C 20 -S 50000" 6

# rcopy's server does not end by itself.
copied_to_guest() {
	head -c 2000003 /dev/urandom >"$tmp_dir/from"
	guest spawn --timeout 60 peer server "rcopy" && wait_for 5 guest_listens || return 1
	run_in A timeout 40 rcopy "$tmp_dir/from" "$B4:/tmp/to" || return 1
	[ "$(in_guest 10 md5sum /tmp/to | cut -d' ' -f1)" = "$(md5sum <"$tmp_dir/from" | cut -d' ' -f1)" ]
}
copied_from_guest() {
	local server rc=0
	spawn_in A 60 "$tmp_dir/server.log" rcopy
	server=$spawned_pid
	wait_for 5 daemon_counts A cm_listeners
	in_guest 40 "rcopy /tmp/to $A4:$tmp_dir/back" && cmp "$tmp_dir/from" "$tmp_dir/back" || rc=1
	end_pid "$server"
	forget_pid "$server"
	return $rc
}
check "rcopy to the guest, contents compared" copied_to_guest
in_guest 5 "killall rcopy" >/dev/null 2>&1
check "rcopy from the guest, contents compared" copied_from_guest

roced_stop A
finish
