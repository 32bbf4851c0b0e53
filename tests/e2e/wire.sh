#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The faulty wire itself: what it says it did is what arrives, and other frames pass untouched. It
# needs no daemon; the other suites stand on it.
#
# usage: tests/e2e/wire.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

roced_bin=$impair_bin # all that this suite needs
need python3 ping
wire_impaired 1500

# send N frames to a UDP port through the wire and print what arrives: count, distinct, out of order,
# damaged. Frame: Ethernet, IPv4, UDP, 12 bytes that stand for a BTH, number, filler.
cat >"$tmp_dir/count.py" <<'PY'
import ctypes, os, socket, struct, sys, time

port, total, ns_from, ns_to = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]


def packet_socket(namespace):
    fd = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    os.setns(fd, 0x40000000)
    os.close(fd)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
    s.bind(("port", 0))
    return s


def frame(i):
    data = bytes(12) + struct.pack("!I", i) + bytes([i & 0xff]) * 100
    udp = struct.pack("!HHHH", 50000, port, 8 + len(data), 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp + data), 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    return b"\x02\0\0\0\0\2" + b"\x02\0\0\0\0\1" + b"\x08\x00" + ip + udp + data


libc = ctypes.CDLL(None, use_errno=True)
os.setns = getattr(os, "setns", lambda fd, kind: libc.setns(fd, kind))
tx, rx = packet_socket(ns_from), packet_socket(ns_to)
sent = {frame(i): i for i in range(total)}
for i, f in enumerate(sent):
    tx.send(f)
    if i % 50 == 49:
        time.sleep(0.002)
rx.settimeout(0.5)
seen, damaged = [], 0
try:
    while True:
        f = rx.recv(2000)
        if f[36:38] == struct.pack("!H", port):
            if f in sent:
                seen.append(sent[f])
            else:
                damaged += 1
except socket.timeout:
    pass
late = sum(1 for i, n in enumerate(seen[1:]) if n < seen[i])
print(len(seen) + damaged, len(set(seen)), late, damaged)
PY

arrives() { python3 "$tmp_dir/count.py" "$1" "$2" "$(ns A)" "$(ns B)"; }
told() { grep "from a " "$tmp_dir/impair.log" | grep -oE "$1 [0-9]+" | cut -d' ' -f2; }

# is NAME WHAT VALUE WANTED
is() { if [ "$3" -eq "$4" ]; then pass "$1: $2"; else fail "$1: $2 is $3, not $4" "$tmp_dir/impair.log"; fi; }

# faults NAME impair-options...: sets count distinct late damaged
faults() {
	start_impair M a b --seed 7 "${@:2}" || { fail "$1: the wire starts" "$tmp_dir/impair.log"; return 1; }
	read -r count distinct late damaged < <(arrives 4791 2000)
	stop_impair
}

faults "no faults" && is "no faults" "frames that arrive" "$distinct" 2000
faults "loss" --drop 5 && {
	is "loss" "frames that arrive" "$count" $((2000 - $(told dropped)))
	[ "$(told dropped)" -gt 50 ] && pass "loss: some 5 %" || fail "loss: $(told dropped) of 2000"
}
faults "duplication" --dup 5 && {
	is "duplication" "frames that arrive" "$count" $((2000 + $(told duplicated)))
	is "duplication" "distinct frames" "$distinct" 2000
}
faults "corruption" --corrupt 5 && is "corruption" "damaged frames" "$damaged" "$(told corrupted)"
faults "reordering" --reorder 5 && {
	is "reordering" "distinct frames" "$distinct" 2000
	[ "$late" -gt 50 ] && pass "reordering: $late frames come late" || fail "reordering: only $late frames late"
}
start_impair M a b --drop 100
read -r count distinct late damaged < <(arrives 4790 500)
stop_impair
is "other traffic, all RoCE lost" "frames that arrive" "$distinct" 500
finish
