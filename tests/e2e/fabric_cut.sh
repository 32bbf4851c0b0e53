#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two daemons that have agreed leave a path that is cut within 5 ms, by roce-fabric's clock, each of four. Some EVs lead
# there; each is asked for now and then by a copy, and hardly anything else may go there.
#
# usage: tests/e2e/fabric_cut.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"

V4=1

need ss ib_write_bw python3
[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
wire_fabric 4200
fabric_config "host_mbps = 4000; leaf_mbps = 1000; buffer_bytes = 4194304; ecn_min_bytes = 50000; ecn_max_bytes = 200000;
	convergence_us = 100000000;" >"$tmp_dir/fabric.conf"
fabric_start "$tmp_dir/fabric.conf" || finish
for n in A B; do
	MORE="multipath = { peers = [ \"10.77.0.0/24\" ]; evs = 16; };" roced_start $n "$(af_packet_device port)" 4096 4200 \
		"$([ $n = A ] && echo "$A4/24" || echo "$B4/24")" || finish
done

# Packets of A's leaf to the spine in turn: how many a millisecond before the cut, how many are lost in the first 5 ms after it
# and in the 35 after those. Acknowledgements, which come from the other leaf, are not looked at.
each_is_left() {
	python3 - "$tmp_dir/fabric.sock" <<-'END'
		import json, socket, sys, time
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		f = s.makefile("rw")
		def ask(command):
		    print(command, file=f, flush=True)
		    answer = json.loads(f.readline())
		    assert answer["ok"], answer
		    return answer
		def seen(spine):
		    now_us = ask("stats")["now_us"]
		    for link in ask("links")["links"]:
		        if link["name"] == "leaf 0 - spine %d" % spine:
		            return now_us, link["up"]["packets"], link["up"]["lost"]
		all_before = all_late = 0
		for spine in range(4):
		    before = seen(spine)
		    time.sleep(0.3)
		    rows = [seen(spine)]
		    per_ms = (rows[0][1] - before[1]) * 1000 / (rows[0][0] - before[0])
		    ask("cut spine %d" % spine)
		    rows = [seen(spine)]
		    while rows[-1][0] - rows[0][0] < 42000:
		        rows.append(seen(spine))
		    ask("restore")
		    lost = lambda ms: max(r[2] for r in rows if r[0] - rows[0][0] <= ms * 1000) - before[2]
		    early, late = lost(5), lost(40) - lost(5)
		    print("spine %d: %.1f packets a ms before the cut, %d lost in 5 ms, %d in the 35 after them" % (spine, per_ms, early, late))
		    all_before += 35 * per_ms
		    all_late += late
		    time.sleep(1)
		print("after 5 ms %d are lost where %d would have gone" % (all_late, all_before))
		sys.exit(all_late * 4 > all_before or all_before < 100)
	END
}
left_in_time() {
	local client rc=0
	spawn_in B 60 "$tmp_dir/server.log" ib_write_bw -d roced0 -x $V4 -F -D 12
	server_settles B ib_write_bw
	spawn_in A 60 "$tmp_dir/client.log" ib_write_bw -d roced0 -x $V4 -F -D 12 $SIDE_B
	client=$spawned_pid
	sleep 2
	each_is_left || rc=1
	wait "$client" || rc=1
	cat "$tmp_dir/client.log.err"
	return $rc
}
check "a path that is cut is left within 5 ms, and nothing fails" left_in_time
fabric_stop
finish
