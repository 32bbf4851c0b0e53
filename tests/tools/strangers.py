#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts that are not there speak to a RoCE port, each from an address of its own in the network of the address that is spoken to.

usage: strangers.py INTERFACE MAC HOW COUNT RATE ADDRESS

HOW: connect  each asks for a connection (a REQ of the connection manager, in the clear)
     version  each begins the key handshake in a version that nobody speaks
     begin    each begins the key handshake, with no key that anybody has
     noise    each sends a message of the key handshake that begins nothing
     group    the first message of the key handshake comes from addresses of groups
     self     and from the very address that is spoken to
Needs the right to open packet sockets. RATE is datagrams a second.
"""
import ipaddress
import os
import random
import socket
import struct
import sys
import time
import types

from hostile_net import Attack, bth, ones_sum, packet

CONTROL_PORT = 4793


def datagram(src, dst, body):
    udp = struct.pack("!HHHH", CONTROL_PORT, CONTROL_PORT, 8 + len(body), 0) + body
    if len(src) == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + src + dst
        return head[:10] + struct.pack("!H", ones_sum(head) ^ 0xFFFF) + head[12:] + udp
    check = ones_sum(src + dst + struct.pack("!II", len(udp), 17) + udp) ^ 0xFFFF
    return struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + src + dst + udp[:6] + struct.pack("!H", check or 0xFFFF) + udp[8:]


def first(version):
    """M1: a pre-shared key, AES-256-GCM and SM4-GCM, a key of X25519."""
    body = struct.pack("!BBBBBBB", 1, 2, 2, 3, 1, 1, 32) + os.urandom(32) + struct.pack("!HQ", 1, 1) + os.urandom(48) + b"\0"
    return struct.pack("!BBBB", version, 1, 0, 1) + os.urandom(8) + bytes(8) + body


def connect(src, dst, rng):
    mad = b""
    while mad[16:18] != b"\0\x10":
        mad = Attack.mad(types.SimpleNamespace(rng=rng), src, dst)
    mad = mad[:1] + b"\7\2\3" + mad[4:]
    return packet(src, dst, bth(0x64, 1, 0, ack_req=0) + struct.pack("!II", 0x80010000, 1) + mad, rng)


def source(dst, how, i):
    v4 = len(dst) == 4
    if how == "self":
        return dst
    if how == "group":
        return bytes([224, 0, 0, 1]) if v4 else bytes([0xFF, 2]) + bytes(13) + b"\1"
    return dst[:2] + struct.pack("!H", 0x0100 + i) if v4 else dst[:8] + b"\x0b\xad" + struct.pack("!HI", 0, i)


def main():
    interface, mac, how, count, rate, address = sys.argv[1:]
    dst, rng = ipaddress.ip_address(address).packed, random.Random(1)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    ether = bytes.fromhex(mac.replace(":", "")) + b"\2bad12" + (b"\x08\0" if len(dst) == 4 else b"\x86\xdd")
    start = time.monotonic()
    for i in range(int(count)):
        src = source(dst, how, i)
        if how == "connect":
            out = connect(src, dst, rng)
        elif how == "noise":
            out = datagram(src, dst, struct.pack("!BBBB", 1, 8, 0, 1) + os.urandom(25))
        else:
            out = datagram(src, dst, first(2 if how == "version" else 1))
        sock.send(ether + out)
        ahead = i / float(rate) - (time.monotonic() - start)
        if ahead > 0:
            time.sleep(ahead)
    print("strangers: sent", count)


main()
