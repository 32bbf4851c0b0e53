#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI, unmodified, four ranks on two daemons: tests/verbs/mpi_check.c checks every value it gets by sends,
# reductions and exchanges, over UCX (pml ucx) and over libfabric (mtl ofi).
#
# usage: tests/verbs/mpi.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss
for tool in mpirun mpicc; do
	command -v $tool >/dev/null || skip_all "$tool is not installed: openmpi-bin and libopenmpi-dev, see tools/deps"
done
mpicc -O2 -Wall -Wextra -o "$tmp_dir/mpi_check" "$(dirname "$0")/mpi_check.c" || { fail "mpi_check.c compiles"; finish; }
make_char_device || skip_all "cannot make $char_device, which UCX looks for"
two_daemons
kernel_address A $A4/24 && kernel_address B $B4/24 || skip_all "cannot give the kernel the devices' addresses"

# What mpirun in A runs in place of ssh: the rest of the command, on the other "host", with a name of its own.
cat >"$tmp_dir/agent" <<-END
	#!/bin/sh
	shift
	exec ip netns exec $(ns B) unshare --uts sh -c 'hostname roced-b; exec "\$@"' sh \
		$roced_run_bin --socket $tmp_dir/roced-B.sock sh -c "\$*"
END
chmod +x "$tmp_dir/agent"
mkdir "$tmp_dir/mpi"

ranks() {
	local out
	out=$(run_in A timeout -k 2 60 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun \
		--mca plm_rsh_agent "$tmp_dir/agent" --mca orte_tmpdir_base "$tmp_dir/mpi" \
		--mca oob_tcp_if_include side -H $SIDE_A:2,$SIDE_B:2 --oversubscribe "$@" "$tmp_dir/mpi_check" 2>&1)
	local rc=$?
	echo "$out"
	[ $rc -eq 0 ] && [[ $out = *"4 ranks, no errors"* ]]
}

ucx="-x UCX_NET_DEVICES=roced0:1 -x UCX_LOG_LEVEL=warn"
# shellcheck disable=SC2086
{
	check "pml ucx, rc_verbs" ranks --mca pml ucx $ucx -x UCX_TLS=rc_v,self
	check "pml ucx, rc_verbs, IPv6" ranks --mca pml ucx $ucx -x UCX_TLS=rc_v,self -x UCX_IB_GID_INDEX=$V6
	check "pml ucx, ud_verbs" ranks --mca pml ucx $ucx -x UCX_TLS=ud_v,self
}
check "mtl ofi, connected endpoints (rxm)" ranks --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxm"
check "mtl ofi, datagrams (rxd)" ranks --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxd"

roced_stop A
roced_stop B
finish
