#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two queue pairs of hosts behind gateways, as far as a gateway looks at them.

usage: gateway_talk.py send INTERFACE SRC DST [KEY=VALUE...]     requests of a reliable connection
       gateway_talk.py hear INTERFACE SECONDS [TO=FROM...]       prints the RoCE packets that arrive, a line each

Keys of send: count (1), qp (0x11: whom it is for), psn (0, of the first), opcode (0x0a: RC RDMA WRITE only), tos (2),
becn (0), bytes (64: of payload), vlan (0: untagged), dmac.
hear answers a request for queue pair TO with an acknowledgement for queue pair FROM of the requester. What it prints:
traffic class, opcode, queue pair, PSN, the byte with FECN and BECN in hex, "ok" or "bad" for the ICRC, source, and what
is behind the BTH in hex.
Needs the right to open packet sockets.
"""
import ipaddress
import socket
import struct
import sys
import time

from gateway_frames import ROCE, frame, ip_packet, open_on, udp
from hostile_net import icrc

WRITE, ACK, ECT0 = 0x0a, 0x11, 2
RC_RESPONSES = range(0x0d, 0x13)
PACKET_AUXDATA = 8
AUXDATA_BYTES = 64
SO_RCVBUFFORCE = 33


def roce(src, dst, opcode, qp, psn, rest, tos, becn=0):
    bth = struct.pack("!BBHII", opcode, 0, 0xffff, (0x40 if becn else 0) << 24 | qp, psn)
    whole = ip_packet(src, dst, udp(50000, ROCE, bth + rest + bytes(4)), tos)
    return whole[:-4] + icrc(whole[:-4])


def send(interface, src, dst, keys):
    get = lambda name, default: int(keys.get(name, str(default)), 0)
    sock = open_on(interface)
    smac = sock.getsockname()[4]
    for i in range(get("count", 1)):
        opcode = get("opcode", WRITE)
        reth = bytes(12) + struct.pack("!I", get("bytes", 64)) if opcode == WRITE else b""
        packet = roce(src, dst, opcode, get("qp", 0x11), get("psn", 0) + i, reth + bytes(get("bytes", 64)),
                      get("tos", ECT0), get("becn", 0))
        sock.send(frame(packet, smac, keys.get("dmac", "02:00:00:00:00:99"), get("vlan", 0)))
        time.sleep(0.002)


def show(ip, l4):
    bth = ip[l4 + 8:]
    tos = ip[1] if ip[0] >> 4 == 4 else (struct.unpack("!H", ip[:2])[0] >> 4) & 0xff
    src = ip[12:16] if ip[0] >> 4 == 4 else ip[8:24]
    print(tos, "0x%02x" % bth[0], int.from_bytes(bth[5:8], "big"), int.from_bytes(bth[9:12], "big"), "%02x" % bth[4],
          "ok" if icrc(ip[:-4]) == ip[-4:] else "bad", ipaddress.ip_address(src), bth[12:-4].hex(), flush=True)


def acknowledge(sock, data, tag, ip, l4, peers):
    bth, v4 = ip[l4 + 8:], ip[0] >> 4 == 4
    to = int.from_bytes(bth[5:8], "big")
    if bth[0] >> 5 != 0 or bth[0] in RC_RESPONSES or to not in peers:
        return
    src, dst = (ip[12:16], ip[16:20]) if v4 else (ip[8:24], ip[24:40])
    packet = roce(dst, src, ACK, peers[to], int.from_bytes(bth[9:12], "big"), b"\x1f\0\0\1", ECT0)
    sock.send(frame(packet, sock.getsockname()[4], data[6:12].hex(), tag))


def tag_of(aux):
    """The kernel takes VLAN tags off and tells of them beside the frame (struct tpacket_auxdata); None: none."""
    for level, kind, data in aux:
        if level == 263 and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
            return tci if status & 0x10 else None
    return None


def listen_on(interface):
    sock = open_on(interface)
    sock.setsockopt(263, PACKET_AUXDATA, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)  # what comes all at once
    return sock


def hear(interface, seconds, peers):
    sock = listen_on(interface)
    sock.settimeout(0.2)
    print("listening", file=sys.stderr, flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            data, aux, _, addr = sock.recvmsg(65536, AUXDATA_BYTES)
        except socket.timeout:
            continue
        ip = data[14:]
        if addr[2] == socket.PACKET_OUTGOING or data[12:14] not in (b"\x08\x00", b"\x86\xdd"):
            continue
        l4 = 20 if ip[0] >> 4 == 4 else 40
        if struct.unpack_from("!H", ip + bytes(44), l4 + 2)[0] != ROCE:
            continue
        ip = ip[:l4 + struct.unpack_from("!H", ip, l4 + 4)[0]]
        show(ip, l4)
        acknowledge(sock, data, tag_of(aux) or 0, ip, l4, peers)


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "send":
        send(*args[:3], dict(a.split("=", 1) for a in args[3:]))
    elif what == "hear":
        hear(args[0], float(args[1]), {int(to): int(of) for to, of in (a.split("=", 1) for a in args[2:])})
    return 0


if __name__ == "__main__":
    sys.exit(main())
