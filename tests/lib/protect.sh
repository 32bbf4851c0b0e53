# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What the suites of protection share; a suite sources this file after common.sh.

# GID indices: 0 is the link-local one, then the addresses in the order of the configuration.
V4=1 V6=2
KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff

# psk FILE KEY...
psk() {
	local file=$1
	shift
	(umask 077 && printf '%s\n' "$@" >"$file")
}

# protected NS KEYS PEERS [GROUPS]: a daemon there with these keys of the group protection, entries of its list of peers and
# more groups of the configuration
protected() {
	local addrs=("$A4/24" "$A6/64")
	[ "$1" = A ] || addrs=("$B4/24" "$B6/64")
	CONTROL_KEYS='telemetry = true;' MORE="protection = { $2 peers = ( $3 ); }; ${4:-}" \
		roced_start "$1" "$(af_packet_device port)" 4096 4300 "${addrs[@]}" || finish
}

# both_protected KEYS PEERS [GROUPS]: A and B, each with its own pre-shared keys
both_protected() {
	local n
	for n in A B; do protected $n "psk_file = \"$tmp_dir/$n.psk\"; $1" "$2" "${3:-}"; done
}

required4='{ network = "10.77.0.0/24"; policy = "required"; }'

stop_daemons() {
	roced_stop A
	roced_stop B
}

nothing_refused() {
	local n reason
	for n in A B; do
		for reason in wrong_tag wrong_peer replayed too_old unknown_spi plain psp_header sa_spent no_room shared crypto; do
			[ "$(counter $n "drop $reason")" -eq 0 ] || { echo "$n: $reason $(counter $n "drop $reason")"; return 1; }
		done
	done
}

# on_wire DISPLAY_FILTER: how many frames of the capture it finds
on_wire() { tshark -r "$tmp_dir/wire.pcapng" -Y "$1" 2>/dev/null | wc -l; }
# watch_wire SECONDS: captures what comes to B and leaves it
watch_wire() {
	ip netns exec "$(ns B)" timeout 60 tshark -i port -a duration:"$1" -w "$tmp_dir/wire.pcapng" >"$tmp_dir/tshark.log" 2>&1 &
	tshark_pid=$!
	sleep 2
}
# only_protected: RoCE packets were captured, and none of them plain
only_protected() {
	echo "plain $(on_wire "udp.dstport == 4791"), protected $(on_wire "udp.dstport == 1000")"
	[ "$(on_wire "udp.dstport == 4791")" -eq 0 ] && [ "$(on_wire "udp.dstport == 1000")" -gt 100 ]
}

# rocectl NS COMMAND [ARGUMENTS...]: of the daemon there
rocectl() {
	local where=$1 command=$2
	shift 2
	"$build_dir/app/rocectl/rocectl" "$command" --socket "$(telemetry_socket "$where")" "$@"
}

# told NS COMMAND PYTHON: whether an expression over the answer d to `rocectl COMMAND --json` is true
told() {
	rocectl "$1" "$2" --json | tee "$tmp_dir/told.json" | python3 -c "
import json, sys
d = list(json.load(sys.stdin).values())[0]
print(d)
sys.exit(0 if ($3) else 1)"
}
