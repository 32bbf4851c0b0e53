#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A switch with one trunk, for kernels whose bridge knows no VLANs.

usage: vlan_switch.py TRUNK NATIVE VLAN=INTERFACE...

What comes untagged, or with another tag, by the trunk goes to NATIVE, and back; of each VLAN the untagged frames of its
interface are the tagged ones of the trunk, and what has a tag of VLAN 0 there has its priority. Says "ready", runs
until it is killed. Needs the right to open packet sockets.
"""
import select
import socket
import struct
import sys

from gateway_frames import open_on
from gateway_talk import AUXDATA_BYTES, listen_on, tag_of


def main():
    trunk, native, accesses = sys.argv[1], sys.argv[2], [a.split("=") for a in sys.argv[3:]]
    up, out = listen_on(trunk), listen_on(native)
    by_vlan = {int(vlan): listen_on(interface) for vlan, interface in accesses}
    vlan_of = {sock: vlan for vlan, sock in by_vlan.items()}
    poll = select.epoll()
    socks = {s.fileno(): s for s in [up, out, *by_vlan.values()]}
    for fd in socks:
        poll.register(fd, select.EPOLLIN)
    print("ready", flush=True)
    while True:
        for fd, _ in poll.poll():
            sock = socks[fd]
            data, aux, _, addr = sock.recvmsg(65536, AUXDATA_BYTES)
            if addr[2] == socket.PACKET_OUTGOING:
                continue
            tci = tag_of(aux)
            tagged = data if tci is None else data[:12] + struct.pack("!HH", 0x8100, tci) + data[12:]
            try:
                if sock is up and tci is not None and tci & 0xfff in by_vlan:
                    by_vlan[tci & 0xfff].send(data)
                elif sock is up:
                    out.send(tagged)
                elif sock is out:
                    up.send(tagged)
                elif tci is not None and tci & 0xfff == 0:
                    up.send(data[:12] + struct.pack("!HH", 0x8100, tci | vlan_of[sock]) + data[12:])
                else:
                    up.send(tagged[:12] + struct.pack("!HH", 0x8100, vlan_of[sock]) + tagged[12:])
            except OSError as error:
                print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
