#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Hosts that are not there speak of keys, or of connections, in numbers: what is kept for them gives way to a peer that is there, they
# take few places among the neighbours, and with addresses that nobody can have there is nothing to agree on.
#
# usage: tests/e2e/protection_strangers.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/protect.sh"

need ss rping python3
wire_direct 4300
psk "$tmp_dir/A.psk" "$KEY"
psk "$tmp_dir/B.psk" "$KEY"
optional6='{ network = "fd77::/64"; policy = "optional"; }'
half4='{ network = "128.0.0.0/1"; policy = "optional"; }'

# strangers HOW COUNT RATE ADDRESS: speak to B
strangers() {
	in_ns A timeout 60 python3 "$repo_dir/tests/tools/strangers.py" port "$(in_ns B cat /sys/class/net/port/address)" "$@"
}
rping_to() { cm_pair "$1" 20 "rping -s -a $2 -V -C 20 -S 4000" "rping -c -a $2 -V -C 20 -S 4000"; }
knows_a() { rocectl B sas | grep -E "^$A4 +(established|rekeying) "; }
has_room() { ! rocectl B alarms | grep no_room; }

# neighbours NS: how many there are
neighbours() {
	counter "$1" sacks_sent >/dev/null
	grep -o ': neighbours [0-9]*' "$tmp_dir/roced-$1.log" | tail -n 1 | grep -o '[0-9]*$'
}

# ------------------------------------------------------------------ places for associations

both_protected "" "$required4, $optional6"
check "700 strangers want connections" strangers connect 700 300 "$B6"
check "and were answered, or tried to" [ "$(counter B mads_received)" -ge 600 ]
rping_to "a peer that is there finds a place" "$B4"
check "and has keys" knows_a
check "nobody had to be sent away" has_room
check "4000 strangers begin the handshake" strangers begin 4000 2000 "$B6"
check "the peer still has keys" knows_a
rping_to "and is served" "$B4"
stop_daemons

# ------------------------------------------------------------------ places for neighbours

both_protected "" "$required4, $optional6"
check "3000 strangers speak another version" strangers version 3000 3000 "$B6"
n=$(neighbours B)
check "they take few places of the table of neighbours ($n)" [ "${n:-9999}" -le 300 ]
rping_to "and a peer is served" "$B4"
stop_daemons

# ------------------------------------------------------------------ who cannot be a peer

both_protected "" "$required4, $optional6, $half4"
nobody() {
	local how=$1 to=$2 ignored
	ignored=$(counter B not_ours)
	strangers "$how" 20 100 "$to" || return 1
	[ "$(counter B not_ours)" -ge $((ignored + 20)) ] && told B sas "d['associations'] == 0"
}
check "nothing is agreed on with a group" nobody group "$B4"
check "nor with ourselves" nobody self "$B4"
check "nor with ourselves, IPv6" nobody self "$B6"
check "what begins nothing leaves nothing" nobody noise "$B6"
stop_daemons

finish
