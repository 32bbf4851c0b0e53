#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# libfabric's fi_pingpong, unmodified, between two daemons: connected endpoints, datagrams, and the reliable
# endpoints that rxm and rxd make of them.
#
# usage: tests/verbs/libfabric.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss
command -v fi_pingpong >/dev/null || skip_all "libfabric-bin is not installed, see tools/deps"
two_daemons
kernel_address A $A4/24 && kernel_address B $B4/24 || skip_all "cannot give the kernel the devices' addresses"

lists_endpoints() {
	local out
	out=$(run_in A fi_info -p verbs) || return 1
	echo "$out"
	[[ $out = *FI_EP_MSG* && $out = *FI_EP_DGRAM* ]]
}
check "fi_info lists connected and datagram endpoints" lists_endpoints

pingpong() { both "fi_pingpong $*" 25 "fi_pingpong $*"; }

for bytes in 64 1024 65536; do
	pingpong -d roced0 -p verbs -e msg -I 200 -S $bytes -c
	pingpong -d roced0 -p "verbs;ofi_rxm" -e rdm -I 200 -S $bytes -c
done
pingpong -d roced0-dgram -p verbs -e dgram -I 200 -S 64 -c
pingpong -d roced0-dgram -p verbs -e dgram -I 200 -S 1024 -c
pingpong -d roced0-dgram -p "verbs;ofi_rxd" -e rdm -I 200 -S 1024
pingpong -d roced0 -p "verbs;ofi_rxm" -e rdm -I 10 -S all

roced_stop A
roced_stop B
finish
