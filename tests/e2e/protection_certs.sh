#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Who is believed: certificates of ECDSA and SM2 between daemons, and those that are refused; and what somebody on the wire
# achieves. What is refused is dropped, counted, an alarm at both ends, and a line in the log a second at most.
#
# usage: tests/e2e/protection_certs.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/protect.sh"

need ss ib_write_bw rping python3 openssl
replay="$(dirname "$0")/../tools/replay.py"
wire_direct 4300

# ------------------------------------------------------------------ certificates

# new_key KIND FILE
new_key() { (umask 077 && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:"$1" -out "$2") 2>/dev/null; }
# sign_with KIND: options that signing needs
sign_with() { if [ "$1" = SM2 ]; then echo -sm3 -sigopt distid:1234567812345678; else echo -sha256; fi; }
# authority KIND NAME: NAME.key and NAME.pem
authority() {
	new_key "$1" "$tmp_dir/$2.key"
	# shellcheck disable=SC2046
	openssl req -x509 -new -key "$tmp_dir/$2.key" $(sign_with "$1") -subj "/CN=authority $2" -days 30 -out "$tmp_dir/$2.pem" 2>/dev/null
}
# certificate KIND AUTHORITY NAME ADDRESS [DAYS]: NAME.key and NAME.pem
certificate() {
	local kind=$1 ca=$2 name=$3 how check=
	how=$(sign_with "$kind")
	[ "$kind" != SM2 ] || check="-vfyopt distid:1234567812345678"
	new_key "$kind" "$tmp_dir/$name.key"
	# shellcheck disable=SC2086
	openssl req -new -key "$tmp_dir/$name.key" $how -subj "/CN=$name" -addext "subjectAltName=IP:$4,DNS:$name.example" \
		-out "$tmp_dir/$name.csr" 2>/dev/null &&
		openssl x509 -req -in "$tmp_dir/$name.csr" $check $how -CA "$tmp_dir/$ca.pem" -CAkey "$tmp_dir/$ca.key" -CAcreateserial \
			-days "${5:-10}" -copy_extensions copy -out "$tmp_dir/$name.pem" 2>/dev/null || { fail "certificate $name"; finish; }
}

authority prime256v1 ca
authority prime256v1 other
authority SM2 smca
certificate prime256v1 ca A $A4
certificate prime256v1 ca B $B4
certificate prime256v1 ca old $B4 -1
certificate prime256v1 other strange $B4
certificate SM2 smca smA $A4
certificate SM2 smca smB $B4

# by_cert NS CERTIFICATE AUTHORITY [PEER-KEYS]
by_cert() {
	protected "$1" "cert_file = \"$tmp_dir/$2.pem\"; key_file = \"$tmp_dir/$2.key\"; ca_file = \"$tmp_dir/$3.pem\"; ${5:-}" \
		"{ network = \"10.77.0.0/24\"; policy = \"required\"; ${4:-} }"
}

works() {
	cm_pair "$1: rping" 20 "rping -s -a $B4 -V -C 50 -S 4000" "rping -c -a $B4 -V -C 50 -S 4000"
	verify "$1: every byte" 60 $V4 4096 -q 4 -s 65536
	check "$1: it was certificates" told A sas "d['method'] == ['certificate'] and d['suite'] == ['$2']"
	check "$1: no alarm" rocectl A alarms
}

by_cert A A ca "names = [ \"$B4\" ];"
by_cert B B ca 'names = [ "elsewhere.example", "A.example" ];'
works "ECDSA" aes-256-gcm
stop_daemons

by_cert A smA smca "" 'suites = [ "sm4-gcm" ];'
by_cert B smB smca "" 'suites = [ "sm4-gcm" ];'
works "SM2" sm4-gcm
stop_daemons

# ------------------------------------------------------------------ what is not believed

cm_refused() {
	spawn_in B 12 "$tmp_dir/server.log" rping -s -a "$B4" -C 1
	spawn_in A 12 "$tmp_dir/client.log" rping -c -a "$B4" -C 1
	! wait "$spawned_pid"
}
# lines NS: of protection in the log there, which had at least 10 seconds
seldom() {
	local n lines
	for n in A B; do
		lines=$(grep -c 'protection with' "$tmp_dir/roced-$n.log")
		echo "$n: $lines lines"
		[ "$lines" -ge 1 ] && [ "$lines" -le 12 ] || return 1
	done
}
# says NS TEXT: an alarm there has it, and the log
says() {
	grep 'protection with' "$tmp_dir/roced-$1.log"
	grep -q "protection with .*$2" "$tmp_dir/roced-$1.log" &&
		told "$1" alarms "any('$2' in text and active for text, active in zip(d['text'], d['active']))"
}
# not_believed NAME TEXT-AT-A TEXT-AT-B
not_believed() {
	check "$1: no connection" cm_refused
	check "$1: A has an alarm and a line in its log" says A "$2"
	check "$1: B has too" says B "$3"
	check "$1: lines are few" seldom
	check "$1: rocectl alarms says so by its status" [ "$(rocectl A alarms >/dev/null; echo $?)" -eq 1 ]
	check "$1: nothing went plain" [ "$(counter A 'drop no_sa')" -gt 0 ]
}

by_cert A A ca
by_cert B old ca
not_believed "an expired certificate" "expired" "expired"
roced_stop B
by_cert B B ca
# One that was refused asks again after 30 seconds, whatever it has to send.
check "once it has a new one, they agree within the half minute of the pause" wait_for 45 told A sas "d['state'] == ['established']"
works "once it has a new one" aes-256-gcm
stop_daemons

by_cert A A ca
by_cert B strange other
not_believed "an unknown authority" "authority" "authority"
stop_daemons

by_cert A A ca 'names = [ "C.example" ];'
by_cert B B ca
not_believed "another name" "name" "name"
stop_daemons

psk "$tmp_dir/B.psk" "$KEY"
by_cert A A ca
protected B "psk_file = \"$tmp_dir/B.psk\";" "$required4"
not_believed "one has a key, the other one a certificate" "in common" "no way of authentication"
stop_daemons

# ------------------------------------------------------------------ somebody on the wire

psk "$tmp_dir/A.psk" "$KEY"
both_protected "" "$required4"
# while_attacked HOW REASON ALARM-SUBJECT WORDS: the data stays right, B drops what it should, and has an alarm
while_attacked() {
	local how=$1 reason=$2 subject=$3 words=$4 before attacker rc=0
	before=$(counter B "drop $reason")
	: >"$tmp_dir/listen.log"
	in_ns B timeout 50 "$replay" listen port 1000 50 2>"$tmp_dir/listen.log" | in_ns A timeout 60 "$replay" send port "$how" >"$tmp_dir/replay.log" 2>&1 &
	attacker=$!
	wait_for 20 grep -q listening "$tmp_dir/listen.log"
	verify "$how: every byte all the same" 60 $V4 4096 -q 4 -s 65536
	wait "$attacker" || rc=$?
	check "$how: 50 were sent" grep -q "sent 50" "$tmp_dir/replay.log"
	check "$how: B drops them as $reason" [ "$(counter B "drop $reason")" -ge $((before + 50)) ]
	check "$how: B has an alarm" wait_for 2 told B alarms "any(a == '$reason' and s == '$subject' and n >= 50 and on
		for a, s, n, on in zip(d['alarm'], d['subject'], d['count'], d['active']))"
	check "$how: one of B's lines says it" grep -q "warning: protection with $subject: $words" "$tmp_dir/roced-B.log"
	return $rc
}
while_attacked replay replayed "$A4" "protected packet that has come before"
while_attacked forge wrong_tag "$A4" "protected packet that is not what the peer sent"
while_attacked flip wrong_tag "$A4" "protected packet that is not what the peer sent"
while_attacked stranger unknown_spi "some host" "protected with keys that are not or no longer known here"
check "the association stands" told A sas "d['state'] == ['established'] and d['handshakes'][0] <= 2"
stop_daemons

finish
