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
. "$(dirname "$0")/peer.sh"

daemon_and_guest rstream riostream rcopy

# stream 'PROGRAM options' [6]: both ways
stream() {
	local guest_addr=$B4 our_addr=$A4
	[ "${2:-4}" = 6 ] && guest_addr=$B6 our_addr=$A6
	guest_serves "$1, IPv${2:-4}" 40 "$1 -b $guest_addr" "$1 -s $guest_addr"
	guest_calls "$1, IPv${2:-4}" 40 "$1 -b $our_addr" "$1 -s $our_addr"
}

stream "rstream -T b -T v -C 50 -S 1000"
stream "rstream -T b -T v -C 20 -S 100000"
stream "rstream -T b -T v -C 20 -S 5000" 6
# rdma-core's rpoll() tells of the end while there are bytes to read, and its rstream takes that for a failure: with
# -T a it can only be the one that ends first.
guest_serves "rstream -T a -T v -C 20 -S 5000, IPv6" 40 "rstream -T a -T v -C 20 -S 5000 -b $B6" \
	"rstream -T a -T v -C 20 -S 5000 -s $B6"
stream "rstream -T n -T v -I 20 -C 10 -S 64"
stream "rstream -B 8192 -T b -T v -I 3 -C 200 -S 3000"
stream "riostream -T b -T v -C 20 -S 1000"
stream "riostream -T n -T v -C 20 -S 50000" 6

# rcopy's server does not end by itself.
copied_to_guest() {
	head -c 2000003 /dev/urandom >"$tmp_dir/from"
	guest spawn --timeout 60 peer server "rcopy" && guest_settles rcopy || return 1
	run_in A timeout 40 rcopy "$tmp_dir/from" "$B4:/tmp/to" || return 1
	[ "$(in_guest 10 md5sum /tmp/to | cut -d' ' -f1)" = "$(md5sum <"$tmp_dir/from" | cut -d' ' -f1)" ]
}
copied_from_guest() {
	local server rc=0
	spawn_in A 60 "$tmp_dir/server.log" rcopy
	server=$spawned_pid
	server_settles A rcopy
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
