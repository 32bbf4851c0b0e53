# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the suites of unmodified programs share: two daemons joined by a veth pair, each with what UCX and
# libfabric look for beside the verbs. A suite sources common.sh, then this file.

# GID indices: 0 is the link-local one, then the addresses in the order of the configuration.
V4=1 V6=2
char_device=/dev/infiniband/roced0
made_char_device=

# UCX opens a device only if its character device is there. It never reads it: a null device does.
make_char_device() {
	[ ! -c "$char_device" ] || return 0
	mkdir -p "${char_device%/*}" && mknod -m 666 "$char_device" c 1 3 || return 1
	made_char_device=yes
}

remove_char_device() {
	[ -n "$made_char_device" ] || return 0
	rm -f "$char_device"
	rmdir "${char_device%/*}" 2>/dev/null
}

# libfabric asks the kernel for the host's addresses, then librdmacm for the device of each one.
kernel_address() { # NS ADDRESS/BITS
	ip -n "$(ns "$1")" link add roced0 type veth peer name roced0p &&
		ip -n "$(ns "$1")" link set roced0p up &&
		ip -n "$(ns "$1")" link set roced0 up &&
		ip -n "$(ns "$1")" addr add "$2" dev roced0
}

port_is_active() { run_in "$1" ibv_devinfo -d roced0 | grep -q PORT_ACTIVE; }

two_daemons() {
	wire_direct 4200
	roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
	roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish
	wait_for 10 port_is_active A && wait_for 10 port_is_active B || { fail "ports are active"; finish; }
}

# both NAME SECONDS 'CMD': the same command in B, and in A with B's side address after it
both() { pair "$1" "$2" B "$3" A "$3 $SIDE_B"; }
