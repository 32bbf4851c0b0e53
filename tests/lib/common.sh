# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Helpers of the end-to-end and interop suites; a suite sources this file.
#
# One suite run owns one temporary directory, the namespaces named with its prefix, and the
# processes whose pids it noted. The exit trap takes all of them away, whatever happened.
#
# Topology: namespaces A and B. Each has a port interface for roced (no kernel address on it) and
# `side`, a kernel interface for the TCP side channel of the test programs (A $SIDE_A, B $SIDE_B).

set -u

# programs print the same words and numbers everywhere
export LC_ALL=C
repo_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build_dir=${ROCED_BUILD:-$repo_dir/build}
suite=$(basename "$0" .sh)
tmp_dir=$(mktemp -d "/tmp/roced-$suite.XXXXXX")
ns_prefix=rt$$
# ROCED_BIN: another daemon, one built with sanitizers say, with the same client libraries
roced_bin=${ROCED_BIN:-$build_dir/app/roced}
roced_run_bin=$build_dir/app/roced-run
impair_bin=$build_dir/tests/tools/impair
verify_bin=$build_dir/tests/tools/rdma_verify
guest_tool=$repo_dir/tests/interop/rxe_guest.py

SIDE_A=192.168.77.1
SIDE_B=192.168.77.2
A4=10.77.0.1 B4=10.77.0.2
A6=fd77::1 B6=fd77::2

passed=0 failed=0 skipped=0
pids=() namespaces=() guests=()
impair_pid=

# ------------------------------------------------------------------ verdicts

pass() { passed=$((passed + 1)); echo "PASS $suite: $1"; }
skip() { skipped=$((skipped + 1)); echo "SKIP $suite: $1 ($2)"; }

# wanted NAME: for work on one case, ONLY=REGEX leaves out the others
wanted() { [[ -z ${ONLY:-} || $1 =~ $ONLY ]]; }

# fail NAME [LOG...]: the ends of the logs follow, indented
fail() {
	failed=$((failed + 1))
	echo "FAIL $suite: $1"
	shift
	local log
	for log in "$@"; do
		[ -s "$log" ] || continue
		echo "    -- $(basename "$log")"
		tail -n "${FAIL_LINES:-8}" "$log" | cut -c1-200 | sed 's/^/    /'
	done
}

# need COMMAND...: the suite is skipped, with the reason, when something it stands on is missing
need() {
	local tool
	[ "$(id -u)" -eq 0 ] || skip_all "needs root for network namespaces"
	for tool in ip ethtool "$@"; do
		command -v "$tool" >/dev/null || skip_all "$tool is not installed, see tools/deps"
	done
	[ -c /dev/net/tun ] || skip_all "there is no /dev/net/tun"
	unshare --net true 2>/dev/null || skip_all "cannot make network namespaces"
	[ -x "$roced_bin" ] || skip_all "no daemon in $build_dir; build it first"
}

skip_all() {
	skip "all cases" "$1"
	finish
}

# Print the suite's totals and exit accordingly; the last command of each suite.
finish() {
	echo "suite $suite: $passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
	exit $?
}

# ------------------------------------------------------------------ processes and clean-up

# is_ours PID: a process below this shell, and not another one that got the number of one that is gone
is_ours() {
	local pid=$1 parent
	while parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null); do
		[ "$parent" = $$ ] && return 0
		[ "${parent:-0}" -gt 1 ] || return 1
		pid=$parent
	done
	return 1
}

# end_pid PID: TERM, up to five seconds, then KILL; sets no status
end_pid() {
	is_ours "$1" || return 0
	kill -TERM "$1" 2>/dev/null || return 0
	local i
	for ((i = 0; i < 50; i++)); do
		kill -0 "$1" 2>/dev/null || { wait "$1" 2>/dev/null; return 0; }
		sleep 0.1
	done
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 1
}

forget_pid() {
	local keep=() p
	for p in "${pids[@]}"; do [ "$p" = "$1" ] || keep+=("$p"); done
	pids=("${keep[@]+"${keep[@]}"}")
}

cleanup() {
	local p ns g
	trap - EXIT
	for g in "${guests[@]+"${guests[@]}"}"; do guest_stop "$g"; done
	for p in "${pids[@]+"${pids[@]}"}"; do end_pid "$p"; done
	for ns in "${namespaces[@]+"${namespaces[@]}"}"; do
		# what a test left behind in its own namespace
		for p in $(ip netns pids "$ns" 2>/dev/null); do kill -KILL "$p" 2>/dev/null; done
		ip netns del "$ns" 2>/dev/null
	done
	declare -F remove_char_device >/dev/null && remove_char_device
	[ -n "${KEEP_LOGS:-}" ] && echo "logs kept in $tmp_dir" || rm -rf "$tmp_dir"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# wait_for SECONDS CMD...: poll until CMD succeeds
wait_for() {
	local n=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		n=$((n - 1))
		[ $n -gt 0 ] || return 1
		sleep 0.1
	done
}

# ------------------------------------------------------------------ namespaces and wires

ns() { echo "$ns_prefix$1"; }
in_ns() { local n; n=$(ns "$1"); shift; ip netns exec "$n" "$@"; }

make_ns() {
	local n
	for n in "$@"; do
		ip netns add "$(ns "$n")" || { fail "namespace $n"; finish; }
		namespaces+=("$(ns "$n")")
		ip -n "$(ns "$n")" link set lo up
	done
}

# quiet_if NS IF MTU: up, without the kernel's own traffic and without offloads
quiet_if() {
	in_ns "$1" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$2/disable_ipv6"
	in_ns "$1" ethtool -K "$2" tx off gso off tso off gro off rxvlan off txvlan off \
		>/dev/null 2>&1
	ip -n "$(ns "$1")" link set dev "$2" mtu "$3" arp off up
}

# veth NS_X IF_X NS_Y IF_Y MTU
veth() {
	ip link add name "$2" netns "$(ns "$1")" mtu "$5" type veth \
		peer name "$4" netns "$(ns "$3")" mtu "$5" ||
		{ fail "veth pair $2 and $4"; finish; }
	quiet_if "$1" "$2" "$5"
	quiet_if "$3" "$4" "$5"
}

side_channel() {
	veth A side B side 1500
	local n addr
	for n in A B; do
		[ $n = A ] && addr=$SIDE_A || addr=$SIDE_B
		ip -n "$(ns $n)" link set dev side arp on
		ip -n "$(ns $n)" addr add "$addr/24" dev side
		# getaddrinfo() resolves IPv6 addresses only where the kernel has one
		in_ns $n sh -c 'echo 0 >/proc/sys/net/ipv6/conf/side/disable_ipv6'
		ip -n "$(ns $n)" addr add "fd88::${addr##*.}/64" dev side nodad
	done
}

# start_impair NS IF IF [impair options]; counters are in $tmp_dir/impair.log after stop_impair
start_impair() {
	local where=$1
	shift
	ip netns exec "$(ns "$where")" "$impair_bin" "${@:3}" "$1" "$2" >"$tmp_dir/impair.log" 2>&1 &
	impair_pid=$!
	pids+=("$impair_pid")
	# the kernel may take seconds for packet sockets while other namespaces go away
	wait_for 20 grep -q ready "$tmp_dir/impair.log"
}

stop_impair() {
	[ -n "$impair_pid" ] || return 0
	end_pid "$impair_pid"
	forget_pid "$impair_pid"
	impair_pid=
}

# Two ends joined by one wire: A:port -- B:port
wire_direct() {
	make_ns A B
	veth A port B port "$1"
	side_channel
}

# With a faulty wire in the middle: A:port -- M:a (impair) M:b -- B:port. Start impair afterwards.
wire_impaired() {
	make_ns A B M
	veth A port M a "$1"
	veth M b B port "$1"
	side_channel
}

# ------------------------------------------------------------------ roced

# The vdev of a port on interface `port`. A frame of the ring must hold MTU + headers, and the
# driver's default of 2048 does not hold a path MTU above 1024.
af_packet_device() {
	echo "net_af_packet0,iface=$1,blocksz=65536,framesz=8192,framecnt=2048,qpairs=1"
}

# roced_config NAME DEVICE PATH_MTU PORT_MTU ADDRESS... : the one place that knows the format.
# A suite may set EAL_ARGS and WORKERS (list entries), PORT_KEYS, DEVICE_KEYS and CONTROL_KEYS (settings) to have others,
# MORE_PORTS and MORE_DEVICES (list entries, a comma in front) and MORE (whole groups).
roced_config() {
	local name=$1 device=$2 mtu=$3 port_mtu=$4 list=
	shift 4
	local a
	for a in "$@"; do list="$list${list:+, }\"$a\""; done
	cat <<-END
		eal = { args = [${EAL_ARGS:-"\"--no-huge\", \"-m\", \"512\""}]; };
		control = { socket = "$tmp_dir/$name.sock"; ${CONTROL_KEYS:-} };
		workers = ( ${WORKERS:-"{ lcore = 1; cpus = \"0-1\"; rx = ( { port = \"p0\"; queue = 0; } ); }"} );
		ports = ( { name = "p0"; device = "$device"; mtu = $port_mtu; ${PORT_KEYS:-} }${MORE_PORTS:-} );
		devices = ( { name = "roced0"; port = "p0"; addresses = [$list]; mtu = $mtu; ${DEVICE_KEYS:-} }${MORE_DEVICES:-} );
		${MORE:-}
	END
}

# roced_start NS DEVICE PATH_MTU PORT_MTU ADDRESS...; log $tmp_dir/roced-NS.log
roced_start() {
	local where=$1
	shift
	roced_config "roced-$where" "$@" >"$tmp_dir/roced-$where.conf"
	roced_launch "$where"
}

# bridge_end NS: a bridge over the veth end; the daemon's tap joins when it is there
bridge_end() {
	in_ns "$1" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
	ip -n "$(ns "$1")" link add name joint mtu 1500 type bridge mcast_snooping 0
	quiet_if "$1" joint 1500
	ip -n "$(ns "$1")" link set dev port master joint
}

tap_joins() {
	ip -n "$(ns "$1")" link set dev dtap0 mtu 1500 master joint && ip -n "$(ns "$1")" link set dev dtap0 up
}

# tap_daemons: in A and B, each on a tap that a kernel bridge joins with the interface `port`
tap_daemons() {
	bridge_end A
	bridge_end B
	roced_start A net_tap0,iface=dtap0 1024 1500 "$A4/24" "$A6/64" || return 1
	roced_start B net_tap0,iface=dtap0 1024 1500 "$B4/24" "$B6/64" || return 1
	tap_joins A && tap_joins B || { fail "the taps join their bridges"; return 1; }
}

# roced_launch NS: with the file $tmp_dir/roced-NS.conf
roced_launch() {
	local where=$1 log="$tmp_dir/roced-$1.log" conf="$tmp_dir/roced-$1.conf"
	rm -f "$tmp_dir/roced-$where.sock"
	: >"$log" # an earlier daemon's "ready" is not this one's
	# a simple command, so that $! is the daemon itself and not a shell around it
	ip netns exec "$(ns "$where")" "$roced_bin" -c "$conf" -f >"$log" 2>&1 &
	eval "roced_pid_$where=$!"
	pids+=("$!")
	local pid=$!
	if ! wait_for 20 roced_ready_or_dead "$log" "$pid" || ! kill -0 "$pid" 2>/dev/null; then
		fail "roced starts in $where" "$log"
		return 1
	fi
}

roced_ready_or_dead() { grep -q 'roced: ready' "$1" || ! kill -0 "$2"; }

# roced_stop NS: clean end on SIGTERM is a verdict of its own
roced_stop() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" rc=0
	local pid=${!var:-}
	[ -n "$pid" ] || return 0
	kill -TERM "$pid" 2>/dev/null
	local i
	for ((i = 0; i < 100; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	if kill -0 "$pid" 2>/dev/null; then
		kill -KILL "$pid"
		rc=timeout
		wait "$pid" 2>/dev/null
	else
		wait "$pid"
		rc=$?
	fi
	forget_pid "$pid"
	eval "$var="
	if [ "$rc" != 0 ] || grep -qE 'ERROR: .*Sanitizer|runtime error:' "$log"; then
		fail "roced in $1 ends cleanly (status $rc)" "$log"
	else
		pass "roced in $1 ends cleanly"
	fi
}

# telemetry_socket NS: of the daemon there; the file system is the same everywhere
telemetry_socket() { in_ns "$1" ss -Hxl | grep -o '[^ ]*dpdk_telemetry\.v2[^ ]*' | head -n 1; }

# run_in NS CMD...: an ordinary verbs program on the roced of that namespace; RUN_OPTIONS: more for roced-run
run_in() {
	local where=$1
	shift
	# shellcheck disable=SC2086
	in_ns "$where" "$roced_run_bin" --socket "$tmp_dir/roced-$where.sock" ${RUN_OPTIONS:-} "$@"
}

# ------------------------------------------------------------------ cases

# spawn_in NS SECONDS LOG CMD...: run_in in the background; sets spawned_pid. A simple command, so
# that a signal to the pid reaches the program.
spawn_in() {
	local where=$1 limit=$2 log=$3
	shift 3
	# shellcheck disable=SC2086
	ip netns exec "$(ns "$where")" timeout -k 2 "$limit" \
		"$roced_run_bin" --socket "$tmp_dir/roced-$where.sock" ${RUN_OPTIONS:-} "$@" >"$log" 2>"$log.err" &
	spawned_pid=$!
	pids+=("$spawned_pid")
}

# Programs print through a buffer what they say and at once what went wrong, so the two are kept apart.

# The TCP port on which a server program waits for its client; nothing for those that use the CM.
tcp_port() {
	case " $* " in
	*" -R "*) ;;
	" ib_"* | " ibv_"*) echo 18515 ;;
	*rdma_verify* | *rc_case*) echo 18900 ;;
	*ucx_perftest*) echo 13337 ;;
	*fi_pingpong*) echo 47592 ;;
	esac
}

tcp_listens() { [ -n "$(in_ns "$1" ss -Hltn "sport = :$2")" ]; }

# daemon_counts NS COUNTER: the daemon there counts some of these objects now
daemon_counts() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log"
	kill -USR1 "${!var}" || return 1
	sleep 0.1
	tac "$log" | grep -m 1 -o "\b$2 [0-9]*" | grep -q ' [1-9]'
}

# counter NS NAME: of the daemon there, the sum over its workers
counter() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "${!var}" || return 1
	wait_for 2 sh -c "tail -n +$at '$log' | grep -q 'sacks_sent'"
	sleep 0.1
	tail -n "+$at" "$log" | grep -o "\b$2 [0-9]*" | awk '{n += $NF} END {printf "%d\n", n}'
}

# channel NAME COUNTER: of the channel of that name of A's daemon, the sum over workers and ports
channel() {
	local log="$tmp_dir/roced-A.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "$roced_pid_A" || return 1
	wait_for 2 sh -c "tail -n +$at '$log' | grep -q 'cnps_sent'"
	tail -n "+$at" "$log" | grep "channel \"$1\"" | grep -o "\b$2 [0-9]*" | awk '{n += $2} END {printf "%d\n", n}'
}

# Wait until a server program in NS is ready for its client.
server_settles() {
	local where=$1 port
	shift
	port=$(tcp_port "$@")
	case " $* " in
	*mckey*) wait_for 2 daemon_counts "$where" groups ;;
	*) if [ -n "$port" ]; then wait_for 5 tcp_listens "$where" "$port"; else wait_for 2 daemon_counts "$where" cm_listeners; fi ;;
	esac
}

# pair NAME SECONDS SERVER_NS 'SERVER CMD' CLIENT_NS 'CLIENT CMD'
# Both must end with status 0 within the time. Commands are words, split by the shell.
pair() {
	local name=$1 limit=$2 server_ns=$3 server=$4 client_ns=$5 client=$6
	local clog="$tmp_dir/client.log" src crc server_pid
	wanted "$name" || return 0
	# shellcheck disable=SC2086
	spawn_in "$server_ns" "$limit" "$tmp_dir/server.log" $server
	server_pid=$spawned_pid
	# shellcheck disable=SC2086
	server_settles "$server_ns" $server
	# shellcheck disable=SC2086
	run_in "$client_ns" timeout -k 2 "$limit" $client >"$clog" 2>"$clog.err"
	crc=$?
	# a server whose client failed has nobody to wait for
	[ $crc -eq 0 ] || kill -TERM "$server_pid" 2>/dev/null
	wait "$server_pid"
	src=$?
	forget_pid "$server_pid"
	verdict "$name" "$src" "$crc"
}

# verdict NAME SERVER_STATUS CLIENT_STATUS
verdict() {
	if [ "$2" -eq 0 ] && [ "$3" -eq 0 ]; then
		pass "$1"
	else
		fail "$1 (server status $2, client status $3; 124 is a timeout)" \
			"$tmp_dir"/server.log{,.err} "$tmp_dir"/client.log{,.err}
		alive_check
		show_counters
	fi
}

# What the daemons counted so far says where packets went.
show_counters() {
	local n var at
	echo "    -- load of the machine $(cut -d' ' -f1-3 /proc/loadavg)"
	for n in A B; do
		var=roced_pid_$n
		[ -n "${!var:-}" ] || continue
		at=$(($(wc -l <"$tmp_dir/roced-$n.log") + 1))
		kill -USR1 "${!var}" 2>/dev/null || continue
		sleep 0.3
		echo "    -- counters of roced in $n since its start"
		tail -n "+$at" "$tmp_dir/roced-$n.log" | grep -E 'transport|drop|port ' | sed 's/^/    /'
	done
}

# A dead daemon explains all later failures: show its end once.
alive_check() {
	local n var
	for n in A B; do
		var=roced_pid_$n
		[ -n "${!var:-}" ] || continue
		kill -0 "${!var}" 2>/dev/null && continue
		fail "roced in $n is alive" "$tmp_dir/roced-$n.log"
		finish
	done
}

# check NAME COMMAND...: passes when the command does; what it printed is in $tmp_dir/check.log
check() {
	local name=$1
	shift
	wanted "$name" || return 0
	if "$@" >"$tmp_dir/check.log" 2>&1; then pass "$name"; else fail "$name" "$tmp_dir/check.log"; fi
}

# served NAME SECONDS TIMES 'SERVER CMD' 'CLIENT CMD': one server that does not end by itself, for clients in a row
served() {
	local name=$1 limit=$2 times=$3 server=$4 client=$5 server_pid i rc=0
	wanted "$name" || return 0
	# shellcheck disable=SC2086
	spawn_in B "$limit" "$tmp_dir/server.log" $server
	server_pid=$spawned_pid
	# shellcheck disable=SC2086
	server_settles B $server
	for ((i = 0; i < times && rc == 0; i++)); do
		# shellcheck disable=SC2086
		run_in A timeout -k 2 "$limit" $client >"$tmp_dir/client.log" 2>"$tmp_dir/client.log.err"
		rc=$?
	done
	kill -0 "$server_pid" 2>/dev/null || rc="$rc, and the server ended"
	end_pid "$server_pid"
	forget_pid "$server_pid"
	if [ "$rc" = 0 ]; then
		pass "$name"
	else
		fail "$name (client status $rc)" "$tmp_dir"/server.log{,.err} "$tmp_dir"/client.log{,.err}
	fi
}

# cm_pair NAME SECONDS 'SERVER CMD' 'CLIENT CMD': a pair that meets through the connection manager
cm_pair() { pair "$1" "$2" B "$3" A "$4"; }

# verify NAME SECONDS GID_INDEX PATH_MTU [options]: every byte and completion, server in B
verify() {
	local name=$1 limit=$2 opts="-d roced0 -x $3 -m $4 -t $2"
	shift 4
	pair "$name" $((limit + 5)) B "$verify_bin $opts $*" A "$verify_bin $opts $* $SIDE_B"
}

# perftest NAME SECONDS TOOL GID_INDEX [options]: server in B, client in A over the side channel
perftest() {
	local name=$1 limit=$2 tool=$3 gid=$4
	shift 4
	local opts="-d roced0 -x $gid -F $*"
	pair "$name" "$limit" B "$tool $opts" A "$tool $opts $SIDE_B"
}

# ------------------------------------------------------------------ the Soft-RoCE guest

guest() { "$guest_tool" --state "$tmp_dir" "$@"; }

guest_start() {
	local name=$1
	shift
	guests+=("$name")
	guest start "$@" "$name" >"$tmp_dir/guest.log" 2>&1
}

guest_stop() { guest stop "$1"; }
