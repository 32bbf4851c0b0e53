#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons and two kernels at a roce-fabric with four paths: programs run through it, its counters say which way packets went, and
# faults that its control socket switches do what they are named for.
#
# usage: tests/e2e/fabric.sh      (root; ROCED_BUILD names the build directory)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"

V4=1 V6=2
ms=1000

need ss ib_write_bw rping ping python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_fabric 4200
fabric_config "host_mbps = 4000; leaf_mbps = 1000; buffer_bytes = 8388608; convergence_us = $((1500 * ms));" \
	>"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish
# A queue pair keeps to the port of its address vector.
export MORE="multipath = { plain = { scheduler = \"ecmp\"; evs = 1; }; };"
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# ------------------------------------------------------------------ kernels

ping_ok() { in_ns A ping -q -n -i 0.01 -c "${2:-20}" -W 1 "$1"; }
ping_lost() { ! in_ns A ping -q -n -i 0.01 -c 5 -W 0.2 "$1"; }
check "ping, IPv4" ping_ok $K4B
check "ping, IPv6" ping_ok $K6B
check "ping with 4000 bytes" in_ns A ping -q -n -c 3 -W 1 -s 4000 $K4B
daemon_answers() { in_ns A ip route replace 10.77.0.0/24 dev kern src $K4A; in_ns A ping -q -n -c 3 -W 1 $B4; }
check "ping of the daemon behind the fabric, from a kernel at another leaf" daemon_answers

# ------------------------------------------------------------------ frames that nobody should mind

# frames NS INTERFACE PYTHON: sends each bytes of an iterable expression
frames() {
	in_ns "$1" python3 - "$2" "$3" <<'PY'
import os, random, socket, sys
random.seed(1)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for frame in eval(sys.argv[2]):
    try:
        s.send(frame)
    except OSError:
        pass  # what the kernel does not let out
PY
}
mac="bytes.fromhex"
# what roce-fabric takes in; a link of the kernel's own MTU keeps what is longer
survives() { ping_ok $K4B 5; }
harmless() { # NAME PYTHON
	wanted "$1" || return 0
	frames A kern "$2"
	check "$1" survives
}
harmless "garbage frames" "[bytes(random.randrange(256) for _ in range(random.randrange(14, 1500))) for _ in range(2000)]"
harmless "cut IP headers" "[bytes(12) + t + bytes([v] * n) for t in (b'\x08\0', b'\x86\xdd') for v in (0x45, 0x4f, 0x60) for n in range(1, 60)]"
harmless "frames with one and two VLAN tags" "[$mac('ffffffffffff02000000aa01') + t + bytes(60) for t in (b'\x81\0\xe0\5\x08\0', b'\x88\xa8\0\5\x81\0\0\6\x86\xdd', b'\x81\0\0\1')] * 50"
harmless "frames for link-local addresses" "[$mac('0180c20000%02x02000000aa02' % i) + b'\x88\xcc' + bytes(50) for i in range(16)]"
ip -n "$(ns A)" link set dev kern mtu 9000
ip -n "$(ns F)" link set dev ka mtu 9000
harmless "frames longer than the MTU" "[$mac('ffffffffffff02000000aa03') + b'\x88\xb5' + bytes(n) for n in (4300, 8000, 8900)] * 20"
long_dropped() { fabric_is "s['ports'][1]['dropped']['long'] >= 20"; }
check "frames longer than the MTU are dropped and counted" long_dropped
link_local_dropped() { fabric_is "s['ports'][1]['dropped']['link_local'] >= 16"; }
check "frames for link-local addresses are dropped and counted" link_local_dropped
ip -n "$(ns A)" link set dev kern mtu 4200
ip -n "$(ns F)" link set dev ka mtu 4200

# catch NS INTERFACE SOURCE: writes the first frame from that link address to caught-NS, in hex, with its VLAN tag
catch() {
	in_ns "$1" timeout 15 python3 - "$2" "$3" >"$tmp_dir/caught-$1" <<'PY'
import socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind((sys.argv[1], 3))
s.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA
print("ready", flush=True)
while True:
    data, aux, _, _ = s.recvmsg(2000, 100)
    if data[6:12].hex() == sys.argv[2]:
        print(data.hex(), "%04x" % struct.unpack("=IIIHHHH", aux[0][2])[5], flush=True)
        break
PY
}
catches() { grep -q ready "$tmp_dir/caught-$1"; }
caught() { [ "$(wc -l <"$tmp_dir/caught-$1")" -eq 2 ]; }

# A kernel that is busy with namespaces may lose a frame: sent again until all have it.
sent_to() { # PYTHON NS...
	local i frame=$1 n
	shift
	for n in "$@"; do wait_for 5 catches "$n" || return 1; done
	for ((i = 0; i < 8; i++)); do
		frames A kern "[$frame]"
		for n in "$@"; do wait_for 1 caught "$n" || continue 2; done
		return 0
	done
	return 1
}
tagged_arrives() {
	rm -f "$tmp_dir"/caught-*
	catch B kern 02000000aa04 &
	sent_to "$mac('ffffffffffff02000000aa04') + b'\x81\0\xe0\5\x88\xb5' + b'tagged' * 10" B || return 1
	cat "$tmp_dir/caught-B"
	grep -q '88b5746167.* e005$' "$tmp_dir/caught-B"
}
# Copies of a frame share a buffer until one of them has to be changed.
one_copy_damaged() {
	rm -f "$tmp_dir"/caught-*
	fabric_ctl corrupt host 3 1000000 || return 1
	catch A port 02000000aa05 &
	catch B kern 02000000aa05 &
	sent_to "$mac('ffffffffffff02000000aa05') + b'\x88\xb5' + bytes(60)" A B || return 1
	fabric_ctl restore
	cat "$tmp_dir"/caught-*
	grep -qE '^ffffffffffff02000000aa0588b50{120} ' "$tmp_dir/caught-A" &&
		! grep -qE '^ffffffffffff02000000aa0588b50{120} ' "$tmp_dir/caught-B"
}
check "a VLAN tag gets through as it is" tagged_arrives
check "a broadcast that is damaged on one of its ways is right on the others" one_copy_damaged

# ------------------------------------------------------------------ programs

perftest "ib_write_bw" 20 ib_write_bw $V4 -n 1000
perftest "ib_write_bw, IPv6, both ways" 20 ib_write_bw $V6 -n 1000 -b
cm_pair "rping IPv4, data checked" 20 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
cm_pair "rping IPv6, data checked" 20 "rping -s -a $B6 -V -C 50 -S 4000" "rping -c -a $B6 -V -C 50 -S 4000"
verify "1 B to 256 KiB, 4 QPs, IPv4, verified" 40 $V4 4096 -q 4 -s 262144

# One QP has one UDP port, so its requests keep to one path; many QPs spread.
fabric_ctl reset >/dev/null
perftest "one QP" 20 ib_write_bw $V4 -n 1000
check "one QP: its data kept to one path" eval '[ "$(spines_used 4000)" -eq 1 ]'
fabric_ctl reset >/dev/null
perftest "16 QPs" 30 ib_write_bw $V4 -n 500 -q 16
check "16 QPs: several paths carried data" eval '[ "$(spines_used 1000)" -ge 2 ]'
counters_agree() {
	fabric_value "sum(p['up']['packets'] for p in s['spines']), sum(p['down']['packets'] for p in s['spines']), s['delivered']"
	fabric_is "sum(p['up']['packets'] for p in s['spines']) == sum(p['down']['packets'] for p in s['spines']) > 0"
}
check "what goes up to the spines comes down" counters_agree

# ------------------------------------------------------------------ faults

# ping's flow has a path there and one back; the other spines make no difference to it
fabric_ctl reset >/dev/null
ping_ok $K4B 50 >/dev/null
path=$(fabric_value "max(range(4), key=lambda i: s['spines'][i]['up']['packets'])")
if wanted "cut spine $path"; then
	fabric_ctl cut spine "$path" >/dev/null
	check "cut spine $path, that ping goes by: it is lost" ping_lost $K4B
	check "after the convergence it goes another way" wait_for 5 ping_ok $K4B 3
	fabric_ctl reset >/dev/null
	check "and none over the cut one" eval '[ "$(spine_packets "$path")" -eq 0 ]'
	fabric_ctl restore spine "$path" >/dev/null
	check "restored: it is used again" wait_for 5 eval 'ping_ok $K4B 3 && [ "$(spine_packets "$path")" -gt 0 ]'
fi
all_cut() { fabric_ctl cut spine 0 count 4 && ping_lost $K4B && sleep 2 && ping_lost $K4B; }
check "all spines cut: nothing gets through, before the convergence and after it" all_cut
fabric_ctl restore >/dev/null
check "restored: all gets through" wait_for 5 ping_ok $K4B 3
sleep 1.6

cut_link_counted() { fabric_is "s['lost']['link'] > 0 and s['lost']['route'] > 0"; }
check "what was lost is counted by its cause" cut_link_counted
fabric_ctl reset >/dev/null

fabric_ctl loss spine 0 count 4 10000 >/dev/null
verify "1 % loss, verified" 60 $V4 1024 -q 4 -s 65537
check "1 % loss: it was lost by the fault" fabric_is "s['lost']['fault'] > 10"
fabric_ctl restore >/dev/null
fabric_ctl corrupt spine 0 count 4 5000 >/dev/null
fabric_ctl repeat spine 0 count 4 5000 >/dev/null
fabric_ctl delay spine 0 count 4 5000 300000 >/dev/null
verify "0.5 % damage, repetition and reordering, verified" 60 $V4 1024 -q 4 -s 65537
fabric_ctl restore >/dev/null

# A slow path makes a queue, and the queue makes marks: roced's packets are ECN-capable.
fabric_ctl reset >/dev/null
fabric_ctl rate spine 0 count 4 25 >/dev/null
perftest "a quarter of the rate" 40 ib_write_bw $V4 -n 500 --tclass 2
check "a quarter of the rate: a queue and marks" fabric_is "s['queue_max_bytes'] > 100000 and s['marked'] > 0"
fabric_ctl restore >/dev/null

# pause NS QUANTA: a PFC frame for priority 0
pause_frame() { frames B kern "[$mac('0180c2000001' '02000000bb01' '8808' '0101' '0001') + ($1).to_bytes(2, 'big') * 8 + bytes(26)]"; }
paused() {
	pause_frame 65535 # 8.4 ms at 4 Gb/s
	fabric_is "s['ports'][3]['pauses'] == 1" && ping_ok $K4B 3
}
check "a PFC frame of a host is followed, and ends with its time" paused

# ------------------------------------------------------------------ control

refused() { # WORD COMMAND: the answer is an error with this word
	fabric_ctl "$2" >"$tmp_dir/refused" && return 1
	cat "$tmp_dir/refused"
	python3 -c "import json, sys; e = json.load(open('$tmp_dir/refused')); sys.exit(e['ok'] or '$1' not in e['error'])"
}
check "control: unknown command" refused "there are: help" "frobnicate 3"
check "control: a spine that is not there" refused "there are 4" "cut spine 4"
check "control: no place" refused "where" "cut"
check "control: a wrong number" refused "0 to 1000000" "loss link 1 2000000"
check "control: help" eval 'fabric_ctl help | python3 -m json.tool'
check "control: links" eval 'fabric_ctl links | python3 -m json.tool'
many_clients() {
	python3 - "$tmp_dir/fabric.sock" <<'PY'
import json, socket, sys
def dial():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(sys.argv[1])
    return s
def ask(s, line):
    s.sendall(line)
    return s.makefile().readline()
idle = [dial() for _ in range(40)]                      # more than it keeps
assert json.loads(ask(dial(), b"stats\n"))["ok"]
s = dial()
s.sendall(b"stats\nhelp\nreset\n")                      # three at once are answered in turn
f = s.makefile()
assert [sorted(json.loads(f.readline())) for _ in range(3)] == [
    sorted(json.loads(ask(dial(), b"stats\n"))), ["commands", "ok"], ["ok"]]
s = dial()
s.sendall(b"x" * 5000)                                  # a line that does not end
assert "too long" in s.makefile().readline()
s = dial()
s.sendall(b"help")                                      # no end of line, but of the stream
s.shutdown(socket.SHUT_WR)
assert json.loads(s.makefile().readline())["ok"]
assert not json.loads(ask(dial(), bytes(range(1, 10)) + bytes(range(11, 256)) + b"\n"))["ok"]
slow = dial()                                           # asks and does not read
slow.setblocking(False)
try:
    for _ in range(100000):
        slow.send(b"links\n" * 50)
except BlockingIOError:
    pass
assert json.loads(ask(dial(), b"stats\n"))["ok"]
PY
}
check "control: many clients, long lines, several commands at once, one that does not read" many_clients
check "control: mode of the socket" eval '[ "$(stat -c %a "$tmp_dir/fabric.sock")" = 660 ]'
second_refused() {
	timeout 20 ip netns exec "$(ns F)" "$fabric_bin" "$tmp_dir/fabric.conf" >"$tmp_dir/second.log" 2>&1
	[ $? -eq 1 ] && grep "another roce-fabric serves it" "$tmp_dir/second.log" && fabric_ctl help
}
check "a second one on the same socket is refused, and the first goes on" second_refused

# An idle fabric leaves the CPU to others.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
idle() {
	local from percent
	from=$(ticks "$fabric_pid")
	sleep 2
	percent=$((($(ticks "$fabric_pid") - from) * 100 / (2 * $(getconf CLK_TCK))))
	echo "$percent % of a core"
	[ $percent -lt 50 ]
}
check "idle: it leaves most of its core alone" idle

roced_stop A
roced_stop B
fabric_stop

# What a killed one left is taken over.
fabric_start "$tmp_dir/fabric.conf" || finish
kill -KILL "$fabric_pid"
wait "$fabric_pid" 2>/dev/null
forget_pid "$fabric_pid"
check "killed: its socket is there" test -S "$tmp_dir/fabric.sock"
fabric_start "$tmp_dir/fabric.conf" || finish
check "killed: the next one serves" fabric_ctl stats
fabric_stop
finish
