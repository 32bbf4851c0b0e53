#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a pcapng file says itself how many packets are missing in it.

usage: capture_stats.py FILE MISSING     status 0: its interfaces' statistics say MISSING in all, and the packets that are there are the others
"""
import struct
import sys

PACKET, STATISTICS = 6, 5
IFRECV, IFDROP = 4, 5


def blocks(data):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4)[0] == length, f"block at {at} is not whole"
        yield kind, data[at + 8:at + length - 4]
        at += length


def options(body):
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            return
        yield code, body[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def main():
    packets, total = 0, {IFRECV: 0, IFDROP: 0}
    for kind, body in blocks(open(sys.argv[1], "rb").read()):
        packets += kind == PACKET
        for code, value in options(body[12:]) if kind == STATISTICS else ():
            if code in total:
                total[code] += struct.unpack("<Q", value)[0]
    print(f"{packets} packets, {total[IFRECV]} taken, {total[IFDROP]} missing; {sys.argv[2]} were said")
    return 0 if total[IFDROP] == int(sys.argv[2]) > 0 and total[IFRECV] - total[IFDROP] == packets else 1


sys.exit(main())
