#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A host behind a gateway, or somebody between gateways, that says what it likes.

usage: gateway_frames.py roce INTERFACE SRC DST [KEY=VALUE...]    RoCE v2 packets of a host: UC SEND only, made-up ICRC
       gateway_frames.py tunnels INTERFACE SRC DST DMAC            tunnel packets of all lengths and kinds, plain
       gateway_frames.py listen INTERFACE SECONDS COUNT            prints IP packets with RoCE that arrive, in hex

Keys of roce: count (1), flows (1: queue pairs, in turn), bytes (64: of payload), ttl (64), tos (2), id (4660), fragment
(0; 1: the first of a packet in two), vlan (0: untagged), dmac. Needs the right to open packet sockets.
"""
import ipaddress
import random
import socket
import struct
import sys
import time

ROCE, TUNNEL = 4791, 4794


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_packet(src, dst, body, tos=2, ttl=64, ident=0x1234, fragment=0):
    src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if src.version == 6:
        return struct.pack("!IHBB", 6 << 28 | tos << 20, len(body), 17, ttl) + src.packed + dst.packed + body
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(body), ident, 0x2000 if fragment else 0x4000, ttl, 17, 0)
    head += src.packed + dst.packed
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def udp(sport, dport, data):
    return struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data


def frame(packet, smac, dmac="ffffffffffff", vlan=0):
    kind = struct.pack("!H", 0x86dd if packet[0] >> 4 == 6 else 0x0800)
    tag = struct.pack("!HH", 0x8100, vlan) if vlan else b""
    return bytes.fromhex(dmac.replace(":", "")) + smac + tag + kind + packet


def open_on(interface):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((interface, 0))
    return sock


def roce(interface, src, dst, keys):
    get = lambda name, default: int(keys.get(name, default))
    sock = open_on(interface)
    smac = sock.getsockname()[4]
    for i in range(get("count", 1)):
        # UC SEND only, to a queue pair of its own for each flow
        bth = struct.pack("!BBHII", 0x24, 0, 0xffff, 0x100 + i % get("flows", 1), i)
        data = bth + i.to_bytes(4, "big") + random.randbytes(get("bytes", 64) - 4) + b"icrc"
        packet = ip_packet(src, dst, udp(50000 + i % get("flows", 1), ROCE, data), get("tos", 2), get("ttl", 64),
                           get("id", 4660), get("fragment", 0))
        sock.send(frame(packet, smac, keys.get("dmac", "02:00:00:00:00:99"), get("vlan", 0)))
        print(packet.hex())
        if i % 64 == 63:
            time.sleep(0.005)


def tunnels(interface, src, dst, dmac):
    """Headers as they are, cut and with anything in them; a host's packet that claims more, or less, than there is."""
    sock = open_on(interface)
    smac = sock.getsockname()[4]
    inner = ip_packet("10.77.0.1", "10.77.0.2", udp(50000, ROCE, bytes(40)))
    bodies = [bytes(n) for n in range(64)] + [random.randbytes(n) for n in range(64)]
    bodies += [struct.pack("!BBHIII", kind, path, 1, 2, 0x100 | 3, 4) + inner
               for kind in range(16) for path in (0, 1, 63, 64, 255)]
    bodies += [bytes(16) + inner[:n] for n in range(len(inner))]
    bodies += [bytes(16) + inner[:2] + struct.pack("!H", n) + inner[4:] for n in (0, 19, 20, 65535)]
    random.seed(1)
    for body in bodies:
        for port in (TUNNEL, TUNNEL + 63):
            sock.send(frame(ip_packet(src, dst, udp(50000, port, body)), smac, dmac))
        time.sleep(0.001)
    print(len(bodies) * 2)


def listen(interface, seconds, count):
    sock = open_on(interface)
    sock.settimeout(0.2)
    print("listening", file=sys.stderr, flush=True)
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end and n < count:
        try:
            data, addr = sock.recvfrom(65536)
        except socket.timeout:
            continue
        ip = data[14:]
        at = 20 if ip and ip[0] >> 4 == 4 else 40
        if addr[2] != socket.PACKET_OUTGOING and data[12:14] in (b"\x08\x00", b"\x86\xdd") and \
                struct.unpack_from("!H", ip + bytes(44), at + 2)[0] == ROCE:
            print(ip.hex(), flush=True)
            n += 1
    return 0 if n >= count else 1


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "roce":
        roce(*args[:3], dict(a.split("=", 1) for a in args[3:]))
    elif what == "tunnels":
        tunnels(*args)
    elif what == "listen":
        return listen(args[0], float(args[1]), int(args[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
