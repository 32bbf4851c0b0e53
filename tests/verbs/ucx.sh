#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ucx_perftest, unmodified, between two daemons: tag matching, put, get and atomic add over UCX's reliable
# connections (rc_verbs) and over its own reliability on datagrams (ud_verbs), over both IP versions.
#
# usage: tests/verbs/ucx.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss
command -v ucx_perftest >/dev/null || skip_all "ucx-utils is not installed, see tools/deps"
make_char_device || skip_all "cannot make $char_device, which UCX looks for"
two_daemons

lists_transports() {
	local out
	out=$(run_in A env UCX_NET_DEVICES=roced0:1 ucx_info -d) || return 1
	echo "$out"
	[[ $out = *"Transport: rc_verbs"* && $out = *"Transport: ud_verbs"* ]]
}
check "ucx_info lists rc_verbs and ud_verbs" lists_transports

# ucx TRANSPORT GID_INDEX TEST BYTES [COUNT]; rc_v and ud_v are UCX's names for these and what they need to meet
ucx() {
	both "ucx_perftest $1, gid $2: $3, $4 bytes" 20 "env UCX_NET_DEVICES=roced0:1 UCX_LOG_LEVEL=warn UCX_TLS=$1,self \
		UCX_IB_GID_INDEX=$2 ucx_perftest -t $3 -s $4 -n ${5:-300} -w 10"
}

for transport in rc_v ud_v; do
	for gid in $V4 $V6; do
		ucx $transport $gid tag_lat 8
		ucx $transport $gid tag_bw 1000000 20
		ucx $transport $gid ucp_put_lat 1024
		ucx $transport $gid ucp_put_bw 65536 50
		ucx $transport $gid ucp_get 65536 50
		ucx $transport $gid ucp_add 8
	done
	ucx $transport $V4 tag_lat 4096
	ucx $transport $V4 ucp_fadd 8
	ucx $transport $V4 ucp_cswap 8
	ucx $transport $V4 stream_bw 4096
	ucx $transport $V4 ucp_am_bw 4096
done

roced_stop A
roced_stop B
finish
