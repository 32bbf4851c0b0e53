#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What can be seen of a daemon while packets go over a wire that loses some: tables by rocectl and telemetry, rates by rocectl top,
# metrics over HTTP; and that nobody who asks badly is in the way of others.
#
# usage: tests/e2e/observe.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"

V4=1
METRICS=127.0.0.1:9464
OPENMETRICS=$repo_dir/tests/tools/openmetrics.py
ROWS=2

need ss ib_write_bw python3 curl
wire_impaired 4200
start_impair M a b --drop 1 || { fail "impair starts" "$tmp_dir/impair.log"; finish; }

export CONTROL_KEYS="telemetry = true;"
device=$(af_packet_device port)
MORE="metrics = { listen = \"${METRICS#*:}\"; max_rows = $ROWS; };
	channels = ( { name = \"bulk\"; }, { name = \"training\"; dscp = [ 26 ]; priority = 3; } );" PORT_KEYS="pfc = [ 3 ];" \
	roced_start A "$device" 4096 4200 "$A4/24" || finish
CONTROL_KEYS='telemetry = true; log = "fields";' roced_start B "$device" 4096 4200 "$B4/24" || finish
A_ASKED=$(telemetry_socket A)
rocectl_bin=$build_dir/app/rocectl/rocectl

scrape() { in_ns A curl -sS --max-time 10 -D "$tmp_dir/head" -o "$tmp_dir/metrics" "http://$METRICS/metrics"; }

# shown NOUN OPTIONS...: what rocectl prints of A
shown() {
	local noun=$1
	shift
	"$rocectl_bin" "$noun" --socket "$A_ASKED" "$@" | tee "$tmp_dir/shown.$noun"
	return "${PIPESTATUS[0]}"
}

# judge PYTHON: statements over m (samples: a list of name, labels, value), value(name, label=...) and total(name)
judge() {
	python3 - "$tmp_dir" "$(dirname "$OPENMETRICS")" "$1" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[2])
		import openmetrics
		families, m = openmetrics.parse(open(sys.argv[1] + "/metrics", encoding="utf-8", newline="").read())
		def values(name, **labels):
		    return [v for n, l, v in m if n == name and labels.items() <= l.items()]
		def value(name, **labels):
		    one, = values(name, **labels)
		    return one
		def total(name):
		    return sum(values(name))
		exec(sys.argv[3])
	END
}

# ------------------------------------------------------------------ while packets go

spawn_in B 60 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -q 3 -D 2 --run_infinitely
server=$spawned_pid
wait_for 5 tcp_listens B 18515
spawn_in A 60 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -q 3 -D 2 --run_infinitely "$SIDE_B"
client=$spawned_pid

has_resent() {
	scrape && judge '
assert all(v > 0 for v in values("roced_qp_retransmits_total")) and len(values("roced_qp_retransmits_total")) == 2, m
assert all(v > 0 for v in values("roced_qp_rtt_seconds")) and total("roced_qp_rx_bytes_total") > 0
assert total("roced_path_sent_total") > 0'
}
check "metrics tell of queue pairs that have sent again, and of their round trips" wait_for 20 has_resent

head_is_right() {
	cat "$tmp_dir/head"
	grep -q '^HTTP/1.1 200 OK' "$tmp_dir/head" && grep -qi "^content-length: $(stat -c %s "$tmp_dir/metrics")" "$tmp_dir/head" &&
		grep -qi '^content-type: application/openmetrics-text; version=1.0.0; charset=utf-8' "$tmp_dir/head"
}
check "they come with their type and length" head_is_right
check "they are OpenMetrics" "$OPENMETRICS" "$tmp_dir/metrics"

# every name that is served is one that is documented
names_are_known() {
	"$roced_bin" --print-metrics | cut -d' ' -f1 | sort -u >"$tmp_dir/known"
	"$OPENMETRICS" --list "$tmp_dir/metrics" | comm -23 - "$tmp_dir/known" | tee "$tmp_dir/unknown"
	[ -s "$tmp_dir/known" ] && [ ! -s "$tmp_dir/unknown" ]
}
check "their names are those of roced --print-metrics" names_are_known

check "of more queue pairs than metrics.max_rows it is told how many" judge '
assert len(values("roced_qp_tx_packets_total")) == 2 and value("roced_left_out_rows", of="qps") == 1, m
assert value("roced_verbs_qps") == 3 and value("roced_device_qps", device="roced0") == 3'
check "queue pairs, paths and workers have what they have to have" judge '
assert value("roced_port_up", port="p0") == 1 and value("roced_port_tx_packets_total", port="p0") > 100
assert all(l["type"] == "RC" and l["peer"] == "'"$B4"'" for n, l, v in m if n == "roced_qp_info")
assert all(0 < v < 10 for v in values("roced_qp_rtt_seconds")) and total("roced_qp_rx_bytes_total") > 0
assert values("roced_path_ecn_ratio") and all(0 <= v <= 1 for v in values("roced_path_ecn_ratio"))
assert value("roced_worker_busy_seconds_total", worker="0") > 0 and value("roced_worker_idle_seconds_total", worker="0") > 0
assert value("roced_node_cycles_total", worker="0", node="requester") > 0
assert value("roced_channel_sent_packets_total", port="p0", channel="bulk") > 100
assert len(values("roced_pfc_pauses_total", port="p0")) == 8
assert value("roced_client_qps", client=[l["client"] for n, l, v in m if n == "roced_client_info" and l["kind"] == "verbs"][0]) == 3
assert total("roced_qp_retransmits_total") <= total("roced_transport_retransmits_total")'

# connections that say nothing: the server ends them, in time for what is asked below
in_ns A timeout 60 python3 - "${METRICS#*:}" <<-'END' &
	import socket, sys
	idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=50) for _ in range(3)]
	assert all(s.recv(1) == b"" for s in idle)
END
dawdlers=$!
pids+=("$dawdlers")

# ------------------------------------------------------------------ rocectl

# looks NOUN PATTERN...: rocectl prints lines that match, and as JSON something that is JSON
looks() {
	local noun=$1 pattern
	shift
	shown "$noun" || return 1
	for pattern in "$@"; do grep -qE "$pattern" "$tmp_dir/shown.$noun" || { echo "no line has $pattern"; return 1; }; done
	shown "$noun" --json | python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' || return 1
	shown "$noun" --all >/dev/null && shown "$noun" --help | grep -q "^usage: rocectl $noun"
}
check "rocectl ports" looks ports '^p0 +yes .* [1-9][0-9]* '
check "rocectl pfc" looks pfc '^p0 +3 '
check "rocectl channels" looks channels '^p0 +bulk +0 +[1-9]' '^p0 +training +3 +0 '
check "rocectl workers: idle share, cycles of nodes" looks workers '^ +0 +1 +[0-9]+\.[0-9] ' '^ +0  port_rx .* [1-9][0-9]*$'
check "rocectl devices" looks devices "^roced0 +p0 +yes +$A4 .* 4096 .* 3\$"
check "rocectl qps" looks qps "^ *0x[0-9a-f]+ +roced0 +RC +RTS +[0-9]+ +$B4 "
check "rocectl clients" looks clients ' verbs +roced0 '
check "rocectl drops" looks drops '^reason '
check "rocectl pools" looks pools '^tx +8192 '
check "rocectl show qps is rocectl qps" sh -c "'$rocectl_bin' show qps --socket '$A_ASKED' | grep -q ' RTS '"
check "a table that is not there: status 2" [ "$("$rocectl_bin" tables >/dev/null 2>&1; echo $?)" -eq 2 ]
check "no daemon: status 2" [ "$("$rocectl_bin" ports --socket "$tmp_dir/none" >/dev/null 2>&1; echo $?)" -eq 2 ]

top_shows() {
	shown top --once --interval 0.5 || return 1
	grep -qE '^worker 0  busy +[0-9.]+ % \[#* *\]' "$tmp_dir/shown.top" && grep -qE "^qp 0x.* to $B4: rx" "$tmp_dir/shown.top" &&
		grep -qE '^   sent \|@\|' "$tmp_dir/shown.top" && grep -qE '^   port [0-9]+ \[#{24}\]' "$tmp_dir/shown.top"
}
check "rocectl top --once: rates, a sparkline, bars of paths" top_shows

top_counts() {
	shown top --count 2 --interval 0.3 --qps 1 --json >/dev/null && python3 - "$tmp_dir/shown.top" <<-'END'
		import json, sys
		pictures = [json.loads(line) for line in open(sys.argv[1])]
		assert len(pictures) == 2, pictures
		for p in pictures:
		    assert p["ports"][0]["tx_bps"] > 0 and p["all_qps"] == 3 and len(p["qps"]) == 1, p
		    assert p["qps"][0]["tx_bps"] > 0 and p["qps"][0]["paths"][0]["pps"] > 0, p
	END
}
check "rocectl top --count --json" top_counts
check "rocectl top: bad usage: status 2" [ "$("$rocectl_bin" top --interval 0 >/dev/null 2>&1; echo $?)" -eq 2 ]

# what telemetry says lies between what two scrapes say
same_everywhere() {
	scrape && cp "$tmp_dir/metrics" "$tmp_dir/before" || return 1
	shown ports --json >"$tmp_dir/ports.json"
	sleep 0.2 # who asks sooner may get the same text
	scrape && judge '
import json
told = json.loads(open(sys.argv[1] + "/ports.json").read())["/roced/ports"]["tx_packets"][0]
_, before = openmetrics.parse(open(sys.argv[1] + "/before", encoding="utf-8", newline="").read())
first, = [v for n, l, v in before if n == "roced_port_tx_packets_total"]
print(first, told, value("roced_port_tx_packets_total"))
assert 0 < first <= told <= value("roced_port_tx_packets_total")'
}
check "telemetry and metrics tell the same" same_everywhere

# ------------------------------------------------------------------ who asks badly

all_timed_out() { scrape && judge 'assert value("roced_metrics_timeouts_total") == 3, m'; }
were_timed_out() { wait "$dawdlers" && wait_for 5 all_timed_out; }
check "who says nothing is sent away" were_timed_out
forget_pid "$dawdlers"

asked_badly() {
	in_ns A python3 - "${METRICS#*:}" <<-'END'
		import socket, sys
		def ask(text, more=b""):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
		    s.sendall(text)
		    try:
		        s.sendall(more)
		    except OSError:
		        pass
		    answer = b""
		    while True:
		        part = s.recv(65536)
		        if not part:
		            return answer
		        answer += part
		host = b"Host: x\r\n\r\n"
		for text, status in ((b"GET / HTTP/1.1\r\n" + host, 404), (b"POST /metrics HTTP/1.1\r\n" + host, 405), (b"\0\0\0\0\n\n", 400),
		                     (b"GET /metrics HTTP/1.1\r\n\r\n", 400), (b"GET /metrics HTTP/2.0\r\n" + host, 505),
		                     (b"GET /" + b"a" * 8000, 414), (b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 1000, 431)):
		    answer = ask(text)
		    assert answer.startswith(b"HTTP/1.1 %d " % status) and b"\r\nConnection: close\r\n" in answer, (text[:40], answer)
		head = ask(b"HEAD /metrics HTTP/1.1\r\n" + host)
		assert head.startswith(b"HTTP/1.1 200 ") and head.endswith(b"\r\n\r\n"), head
		assert ask(b"GET /metrics HTTP/1.0\r\n\r\n").endswith(b"# EOF\n")
		assert ask(b"GET /metrics HTTP/1.1\r\n" + host, b"x" * 30000).endswith(b"# EOF\n")
		# a request that comes byte by byte
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
		for c in b"GET /metrics?x=1 HTTP/1.1\r\n" + host:
		    s.send(bytes([c]))
		assert s.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")
		# more who say nothing than are served at once, and who asks is served
		idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) for _ in range(40)]
		assert ask(b"GET /metrics HTTP/1.1\r\n" + host).endswith(b"# EOF\n")
		# and who does not read what was asked for
		for s in idle[-4:]:
		    s.sendall(b"GET /metrics HTTP/1.1\r\n" + host)
		assert ask(b"GET /metrics HTTP/1.1\r\n" + host).endswith(b"# EOF\n")
	END
}
check "bad requests, too many and slow clients are in nobody's way" asked_badly
were_counted() {
	scrape && judge '
assert value("roced_metrics_bad_requests_total") == 7 and value("roced_metrics_evicted_total") >= 32, m
assert value("roced_metrics_connections") <= 8'
}
check "and were counted" wait_for 5 were_counted
end_pid "$client"
end_pid "$server"
forget_pid "$client"
forget_pid "$server"

# ------------------------------------------------------------------ after it

all_gone() { shown qps | grep -q 'no queue pair' && shown clients | grep -q 'no client' && scrape && judge 'assert not values("roced_qp_tx_packets_total") and value("roced_verbs_sessions") == 0'; }
check "queue pairs and clients are gone with the program" wait_for 5 all_gone

b_listens() { in_ns B ss -Hltn | grep -q .; }
check "nobody listens who was not told to" eval '! b_listens'

refused() {
	MORE="metrics = { listen = \"$1\"; };" roced_config C "$device" 4096 4200 "$A4/24" >"$tmp_dir/bad.conf"
	in_ns A timeout 30 "$roced_bin" -c "$tmp_dir/bad.conf" "${3:--f}" >"$tmp_dir/bad.log" 2>&1 && return 1
	cat "$tmp_dir/bad.log"
	grep -q "$2" "$tmp_dir/bad.log"
}
check "a port that cannot be" refused 70000 'metrics.listen: .* must be a port like "9464"' --check
check "an address that is not here" refused 192.0.2.1:9464 'metrics.listen: 192.0.2.1 port 9464: Cannot assign requested address'

kill -USR1 "$roced_pid_B"
wait_for 5 grep -q 'cnps_sent' "$tmp_dir/roced-B.log"
roced_stop A
roced_stop B

# the last line of B's own is that of its end; lines of DPDK and the word "ready" for whoever started it are others'
log_has_fields() {
	grep -v -e '^TELEMETRY: ' -e '^roced: ready$' "$tmp_dir/roced-B.log" | tee "$tmp_dir/fields" | tail -n 3
	python3 - "$tmp_dir/fields" <<-'END'
		import re, sys
		lines = open(sys.argv[1]).read().splitlines()
		for line in lines:
		    assert re.fullmatch(r'time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=[a-z]+( [a-z_]+=[^ "]+)* msg="([^"\\]|\\["\\n])*"', line), line
		assert len(lines) > 20 and ' level=info event=end signal=15 msg="ending on signal 15"' in lines[-1], lines[-1]
	END
}
check "the log is fields where that is wanted" log_has_fields
finish
