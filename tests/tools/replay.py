#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Somebody on the wire of protected packets: listens to those that arrive, and sends them again or changed.

usage: replay.py listen INTERFACE PORT COUNT      prints frames that arrive for that UDP port, a line of hex each
       replay.py send INTERFACE HOW               sends those of standard input

HOW: replay   as they were
     forge    each with another packet number, so that no window knows it, and its old tag
     flip     each with a bit of its ciphered part changed, and another packet number
     stranger with an SPI that nobody has
Needs the right to open packet sockets. Ends with status 1 when nothing came by in 40 seconds.
"""
import socket
import struct
import sys
import time

ETH, IP4, UDP, PSP = 14, 20, 8, 16


def is_wanted(frame, port):
    return (len(frame) > ETH + IP4 + UDP + PSP and frame[12:14] == b"\x08\x00" and frame[ETH] == 0x45 and
            frame[ETH + 9] == 17 and struct.unpack_from("!H", frame, ETH + IP4 + 2)[0] == port)


def changed(frame, how, i):
    """The PSP header: next header, length, flags, ..., SPI (4..7), IV (8..15), which is the packet number."""
    out = bytearray(frame)
    at = ETH + IP4 + UDP
    if how == "stranger":
        struct.pack_into("!I", out, at + 4, 0x7fff0000 + i)
    if how in ("forge", "flip"):
        number = struct.unpack_from("!Q", out, at + 8)[0]
        struct.pack_into("!Q", out, at + 8, number + 100000 + i)
    if how == "flip":
        out[at + PSP + 20] ^= 0x10
    struct.pack_into("!H", out, ETH + IP4 + 6, 0)  # UDP checksum: none
    return bytes(out)


def listen(interface, port, count):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((interface, 0))
    sock.settimeout(1)
    print("listening", file=sys.stderr, flush=True)
    n, end = 0, time.monotonic() + 40
    while n < count and time.monotonic() < end:
        try:
            frame, addr = sock.recvfrom(65536)
        except socket.timeout:
            continue
        if addr[2] != socket.PACKET_OUTGOING and is_wanted(frame, port):
            print(frame.hex())
            n += 1
    return 0 if n else 1


def send(interface, how):
    frames = [bytes.fromhex(line) for line in sys.stdin]
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    for i, frame in enumerate(frames):
        sock.send(changed(frame, how, i) if how != "replay" else frame)
        time.sleep(0.002)
    print("replay: sent", len(frames))
    return 0 if frames else 1


if sys.argv[1] == "listen":
    sys.exit(listen(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
sys.exit(send(sys.argv[2], sys.argv[3]))
