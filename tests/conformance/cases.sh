# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs conformance scenarios between a requester and a responder that a roce-fabric of two hosts joins. A suite sources this
# file after common.sh and fabric.sh, and has the two ends and the fabric up.
#
# usage in a suite: scenarios REQUESTER RESPONDER, each one of A, B (a roced of that namespace) or guest (Soft-RoCE).
# RESULTS: a file that gets a line a case, with tabs between: scenario, requester, responder, verdict, what was otherwise.

case_bin=$build_dir/tests/tools/rc_case
scenario_bin=$build_dir/tests/tools/scenario
scenario_dir=$repo_dir/tests/conformance/scenarios
case_dir=$tmp_dir/case

# kind END: what it is in titles
kind() { [ "$1" = guest ] && echo rxe || echo roced; }

# dump END FILE: a roced's counters
dump() {
	local var=roced_pid_$1 log="$tmp_dir/roced-$1.log" at
	at=$(($(wc -l <"$log") + 1))
	kill -USR1 "${!var}" || return 1
	wait_for 3 sh -c "tail -n +$at '$log' | grep -q 'merged_sent'"
	tail -n "+$at" "$log" >"$2"
}

# before and after END FILE: what was counted up to the scenario at hand and with it; a case begins where the last one ended
before() {
	[ "$1" != guest ] || return 0
	[ -e "$tmp_dir/counted.$1" ] || dump "$1" "$tmp_dir/counted.$1"
	cp "$tmp_dir/counted.$1" "$2"
}
after() {
	[ "$1" != guest ] || return 0
	dump "$1" "$tmp_dir/counted.$1"
	cp "$tmp_dir/counted.$1" "$2"
}

# start_responder END OPTIONS
start_responder() {
	if [ "$1" = guest ]; then
		conduct guest responder.start 20 "rm -f /tmp/case.*; (timeout -s KILL 40 rc_case --device rxe0 $2 </dev/null >/tmp/case.out 2>&1;" \
			"echo >/tmp/case.rc) & n=80; until netstat -ltn | grep -q ':18900 ' || [ \$n -eq 0 ]; do n=\$((n - 1)); usleep 100000; done; [ \$n -gt 0 ]"
		return
	fi
	# shellcheck disable=SC2086
	spawn_in "$1" 40 "$case_dir/responder.out" "$case_bin" --device roced0 $2
	responder_pid=$spawned_pid
	wait_for 5 tcp_listens "$1" 18900
}

# run_requester END OPTIONS ADDRESS
run_requester() {
	if [ "$1" = guest ]; then
		conduct guest requester.out 40 "rc_case --device rxe0 $2 $3"
		return
	fi
	# shellcheck disable=SC2086
	run_in "$1" timeout -k 2 40 "$case_bin" --device roced0 $2 "$3" >"$case_dir/requester.out" 2>"$case_dir/requester.err"
}

end_responder() {
	if [ "$1" = guest ]; then
		conduct guest responder.out 20 "n=30; until [ -e /tmp/case.rc ] || [ \$n -eq 0 ]; do n=\$((n - 1)); usleep 100000; done;" \
			"[ \$n -gt 0 ] || killall rc_case; cat /tmp/case.out"
		return
	fi
	wait_for 3 responder_is_gone || kill -TERM "$responder_pid" 2>/dev/null
	wait "$responder_pid" 2>/dev/null
	forget_pid "$responder_pid"
}
responder_is_gone() { ! kill -0 "$responder_pid"; }

# conduct VERB [WORDS]: see conductor.py, which runs from the first of these on; its status
conduct() {
	local status
	# shellcheck disable=SC2154
	if [ -z "${conductor_PID:-}" ]; then
		coproc conductor { python3 "$repo_dir/tests/conformance/conductor.py" "$tmp_dir/fabric.sock" "$tmp_dir" 2>"$tmp_dir/conductor.log"; }
		pids+=("$conductor_PID")
	fi
	echo "$1 $case_dir ${*:2}" >&"${conductor[1]}"
	IFS= read -r -t 70 status <&"${conductor[0]}" || { cp "$tmp_dir/conductor.log" "$case_dir/wrong"; return 2; }
	return "$status"
}

# field KEY: of the scenario at hand
field() { sed -n "s/^$1\t//p" "$case_dir/scenario"; }

# known WHO...: why an end of these is known to do something else in the scenario at hand
known() {
	local who
	for who; do sed -n "s/^differs\t$who\t//p" "$case_dir/scenario"; done | paste -sd';'
}

# address_of END: on the side channel
address_of() { [ "$1" = A ] && echo "$SIDE_A" || echo "$SIDE_B"; }

# play REQUESTER RESPONDER: the traffic of the scenario at hand, and what was seen of it
play() {
	local traffic
	traffic=$(field traffic)
	before "$1" "$case_dir/requester.before"
	before "$2" "$case_dir/responder.before"
	start_responder "$2" "$traffic" || return 1
	run_requester "$1" "$traffic" "$(address_of "$2")"
	end_responder "$2"
	after "$1" "$case_dir/requester.after"
	after "$2" "$case_dir/responder.after"
}

# stage FILE REQUESTER: reads a scenario and imposes its rules; what is wrong with it is in $case_dir/wrong
stage() {
	local swap=()
	[ "$2" != guest ] || swap=(--swap)
	rm -rf "$case_dir"
	mkdir -p "$case_dir"
	"$scenario_bin" "${swap[@]}" "$1" >"$case_dir/scenario" 2>"$case_dir/wrong" && conduct impose
}

# scenario FILE REQUESTER RESPONDER
scenario() {
	local name title rc=0 why verdict
	name=$(basename "$1" .conf)
	wanted "$name" || return 0
	title="$name, $(kind "$2") to $(kind "$3")"
	if ! stage "$1" "$2"; then
		fail "$title: its file" "$case_dir/wrong"
		return
	fi
	play "$2" "$3"
	conduct judge || rc=$?
	why=$(known "$(kind "$2") requester" "$(kind "$3") responder")
	settle "$title" "$rc" "$why"
	[ -z "${RESULTS:-}" ] ||
		printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$(kind "$2")" "$(kind "$3")" "$verdict" "${why:-$(paste -sd';' "$case_dir/wrong")}" >>"$RESULTS"
}

# settle TITLE STATUS WHY: sets verdict; a case that is known to differ has to
settle() {
	if [ "$2" -eq 0 ] && [ -z "$3" ]; then
		verdict=pass
		pass "$1"
	elif [ "$2" -eq 1 ] && [ -n "$3" ]; then
		verdict=differs
		pass "$1 (it differs: $3)"
	elif [ "$2" -eq 0 ]; then
		verdict=fail
		echo "it is said to differ, and does not: $3" >"$case_dir/wrong"
		fail "$1" "$case_dir/wrong"
	else
		verdict=fail
		fail "$1" "$case_dir/wrong" "$case_dir/requester.err" "$case_dir/requester.out" "$case_dir"/responder.out{,.err}
		alive_check
	fi
}

# scenarios REQUESTER RESPONDER: all of them
scenarios() {
	local file
	for file in "$scenario_dir"/*.conf; do scenario "$file" "$1" "$2"; done
	fabric_ctl clear >/dev/null
}
