#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons at a hub with an attacker on its third port, and clients that break every rule. The daemons
# must serve on: a bystander's data stays right, nothing spins, and all that was made goes away again.
#
# usage: tests/e2e/hostile.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs,
#                                   SEED=N another attack)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1 V6=2
NET_SECONDS=14 CLIENT_SECONDS=8
seed=${SEED:-1}
hostile_net=$repo_dir/tests/tools/hostile_net.py
hostile_client=$build_dir/tests/tools/hostile_client
GID_A=00000000000000000000ffff0a4d0001

need ss rping ib_atomic_bw python3
# A:port, B:port and the attacker's M:evil on one wire that everybody hears
make_ns A B M
veth A port M a 4200
veth B port M b 4200
veth M evilhub M evil 4200
ip -n "$(ns M)" link add name hub mtu 4200 type bridge ageing_time 0 mcast_snooping 0
quiet_if M hub 4200
for i in a b evilhub; do ip -n "$(ns M)" link set dev $i master hub; done
side_channel
roced_start A "$(af_packet_device port)" 4096 4200 "$A4/24" "$A6/64" || finish
roced_start B "$(af_packet_device port)" 4096 4200 "$B4/24" "$B6/64" || finish

# ------------------------------------------------------------------ what the daemons say

# counts NS: a fresh dump of the counters
counts() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "${!var}" || return 1
	sleep 0.5
	tail -n "+$at" "$log"
}

descriptors() { local var=roced_pid_$1; ls "/proc/${!var}/fd" | wc -l; }

all_gone() { # NS DESCRIPTORS: no object is left, and no more descriptors than there were
	counts "$1" | grep -qE 'sessions 0( [a-z_]+ 0)+ requests ' &&
		[ "$(descriptors "$1")" -le "$2" ]
}

ticks() { local var=roced_pid_$1; awk '{print $14 + $15}' "/proc/${!var}/stat"; }

# an idle daemon sleeps: less than half of one CPU within a second
idles() {
	local before
	before=$(ticks "$1")
	sleep 1
	[ $(($(ticks "$1") - before)) -lt $(($(getconf CLK_TCK) / 2)) ]
}

# half of the table of neighbours (1024) is for clients, whoever sends requests from made-up addresses
neighbours_left() {
	local n
	n=$(counts "$1" | sed -n 's/.*: neighbours \([0-9]*\) .*/\1/p')
	echo "neighbours: $n"
	[ "${n:-9999}" -le 520 ]
}

# ------------------------------------------------------------------ frames

attackers=()
# attack NS-OF-TARGET SEED TARGET4 TARGET6 PEER4 PEER6 [options]
attack() {
	local mac
	mac=$(in_ns "$1" cat /sys/class/net/port/address)
	rm -f "$tmp_dir/attack-$1.log"
	ip netns exec "$(ns M)" timeout 60 python3 "$hostile_net" evil "$mac" --target "$3" --target "$4" \
		--peer "$5" --peer "$6" --seconds $NET_SECONDS --seed "$2" "${@:7}" \
		>"$tmp_dir/attack-$1.log" 2>&1 &
	attackers+=("$!")
	pids+=("$!")
}

learned() { grep -q learned "$tmp_dir/attack-$1.log"; }

attackers_end() {
	local p rc=0
	for p in "${attackers[@]}"; do
		wait "$p" || rc=1
		forget_pid "$p"
	done
	attackers=()
	cat "$tmp_dir"/attack-*.log
	# an attack that learned of nobody is none
	[ $rc -eq 0 ] && ! grep -q 'learned: 0 queue pairs' "$tmp_dir"/attack-*.log
}

flood_ends() {
	wait "${attackers[0]}"
	forget_pid "${attackers[0]}"
	attackers=()
	cat "$tmp_dir/attack-A.log"
	[ "$(sed -n 's/^sent \([0-9]*\) .*/\1/p' "$tmp_dir/attack-A.log")" -gt 10000 ]
}

victims=()
victim() { spawn_in "$1" 60 "$tmp_dir/victim-${#victims[@]}.log" "${@:2}"; victims+=("$spawned_pid"); }
victims_end() {
	local p
	for p in "${victims[@]}"; do
		end_pid "$p"
		forget_pid "$p"
	done
	victims=()
}

fds_A=$(descriptors A) fds_B=$(descriptors B)
victim B rping -s -a $B4 -P -p 7174 -S 1000
victim A rping -s -a $A6 -P -p 7174 -S 30000
victim B ib_atomic_bw -d roced0 -x $V4 -F -n 5000000 -p 18602 -e -t 1
sleep 1.5
victim A rping -c -a $B4 -S 1000 -p 7174
victim B rping -c -a $A6 -S 30000 -p 7174
victim A ib_atomic_bw -d roced0 -x $V4 -F -n 5000000 -p 18602 -e -t 1 $SIDE_B
sleep 1
attack A "$seed" $A4 $A6 $B4 $B6 --rate 2000
attack B "$((seed + 1))" $B4 $B6 $A4 $A6 --rate 2000
# whose queue pairs come later is left alone
wait_for 20 learned A && wait_for 5 learned B || { fail "the attackers listen" "$tmp_dir"/attack-*.log; finish; }
verify "hostile frames: a bystander's data, IPv4" 20 $V4 1024 -q 4 -s 65536
verify "hostile frames: a bystander's data, IPv6, events" 20 $V6 2048 -q 2 -s 65536 -e
check "hostile frames: all were sent" attackers_end
victims_end
check "hostile frames: everything of the victims is gone, A" wait_for 10 all_gone A "$fds_A"
check "hostile frames: everything of the victims is gone, B" wait_for 10 all_gone B "$fds_B"

NET_SECONDS=6
attack A "$seed" $A4 $A6 $B4 $B6 --rate 9000 --listen 0.1 --kinds managers
wait_for 20 learned A
sleep 4
check "flood of connection requests: neighbours are left for clients" neighbours_left A
pair "flood of connection requests: rping" 20 A "rping -s -a $A4 -p 7999 -V -C 5" B "rping -c -a $A4 -p 7999 -V -C 5"
check "flood of connection requests: it was one" flood_ends

# ------------------------------------------------------------------ clients

# hostile_clients SECONDS ROLE...
hostile_clients() {
	ip netns exec "$(ns A)" timeout 60 "$hostile_client" "$tmp_dir/roced-A.sock" $GID_A "$1" "$seed" "${@:2}" \
		>"$tmp_dir/clients.log" 2>&1 &
	attackers+=("$!")
	pids+=("$!")
}
clients_end() {
	wait "${attackers[0]}" || return 1
	forget_pid "${attackers[0]}"
	attackers=()
	cat "$tmp_dir/clients.log"
}

hostile_clients $CLIENT_SECONDS rings scribble memory memfds sharers garbage requests hoard descriptors exec fork half_closed
sleep 0.5
verify "hostile clients: a bystander's data" 20 $V4 1024 -q 2 -s 65536
check "hostile clients: all were started" clients_end
hostile_clients 2 dialers
check "hostile clients: all connections taken" clients_end
check "hostile clients: everything is gone" wait_for 10 all_gone A "$fds_A"
check "an idle daemon sleeps again, A" wait_for 5 idles A
check "an idle daemon sleeps again, B" wait_for 5 idles B

cm_pair "afterwards: rping, data checked" 20 "rping -s -a $B4 -V -C 20 -S 4000" "rping -c -a $B4 -V -C 20 -S 4000"
verify "afterwards: every byte" 20 $V6 1024 -q 2 -s 65536

# ------------------------------------------------------------------ a start that waits

# A vhost-user socket whose server never answers keeps the driver waiting for it.
signal_ends_start() {
	local silent pid rc=0
	python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(1); time.sleep(30)' "$tmp_dir/silent.sock" &
	silent=$!
	pids+=("$silent")
	wait_for 5 test -S "$tmp_dir/silent.sock"
	roced_config roced-C "net_virtio_user0,path=$tmp_dir/silent.sock" 1024 1500 10.77.9.1/24 \
		>"$tmp_dir/roced-C.conf"
	"$roced_bin" -c "$tmp_dir/roced-C.conf" -f &
	pid=$!
	pids+=("$pid")
	sleep 2
	kill -0 "$pid" || echo "it does not wait"
	kill -TERM "$pid"
	wait_for 3 eval "! kill -0 $pid" || { kill -KILL "$pid"; rc=1; }
	wait "$pid" && rc=1
	forget_pid "$pid"
	end_pid "$silent"
	forget_pid "$silent"
	return $rc
}
check "SIGTERM ends a start that waits for a device" signal_ends_start

roced_stop A
roced_stop B
finish
