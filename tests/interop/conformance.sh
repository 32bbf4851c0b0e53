#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Conformance scenarios between roced and Linux Soft-RoCE, each as requester and as responder: a roce-fabric in the middle does to
# chosen packets what each scenario says.
#
# usage: tests/interop/conformance.sh      (root; ROCED_BUILD names the build directory, ONLY=REGEX chooses scenarios)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/fabric.sh"
. "$(dirname "$0")/peer.sh"
. "$(dirname "$0")/../conformance/cases.sh"

[ -x "$fabric_bin" ] || skip_all "no $fabric_bin"
fabric_ns=A
roced_iface=port
GUEST_FILE=$case_bin

# A:port -- A:low, host 0 of the fabric; the guest's tap is host 1
between() {
	veth A port A low 4200
	cat >"$tmp_dir/fabric.conf" <<-END
		eal = { args = [ "--no-huge", "-m", "256" ]; };
		control = { socket = "$tmp_dir/fabric.sock"; };
		fabric = { leaves = 1; spines = 1; hosts_per_leaf = 2; };
		ports = ( { name = "low"; host = 0; mtu = 4200; device = "net_af_packet0,iface=low,blocksz=65536,framesz=8192,framecnt=2048"; },
		          { name = "guest"; host = 1; mtu = 4200; device = "net_af_packet1,iface=roce,blocksz=65536,framesz=8192,framecnt=2048"; } );
	END
	fabric_start "$tmp_dir/fabric.conf"
}

# A queue pair keeps to the port of its address vector.
export MORE="multipath = { plain = { scheduler = \"ecmp\"; evs = 1; }; };"
daemon_and_guest python3
scenarios A guest
scenarios guest A
roced_stop A
fabric_stop
finish
