#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A memif client that comes and goes: it shakes hands, fills its rings and leaves while the server copies from them.

usage: memif_peer.py [-n ROUNDS] [-t SECONDS] [-q QUEUES] [-i ID] [--how HOW] [--slow SECONDS] SOCKET

HOW is how a round ends: "close", "disconnect" (the message), "garbage" (a message of no type), "half" (the handshake is
left before its end), "twice" (a second connection while the first is up, which must be refused), "mix" (all in turn,
the default). Prints what it did; status 1 when the server does not answer or ends.
"""
import argparse
import array
import ctypes
import mmap
import os
import socket
import struct
import sys
import time

VERSION = 2 << 8
COOKIE = 0x3E31F20
ACK, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT = range(1, 9)
MESSAGE = 128
LOG2, BUFFER = 10, 8192
RING = 128 + (16 << LOG2)
HEAD, TAIL, DESCS = 6, 64, 128
HOWS = ("close", "disconnect", "garbage", "half", "twice")


def message(kind, body=b""):
    return (struct.pack("<H", kind) + body).ljust(MESSAGE, b"\0")


def ask(sock, kind, body=b"", fd=None):
    """Sends a message and returns the type of the answer."""
    if fd is None:
        sock.send(message(kind, body))
    else:
        socket.send_fds(sock, [message(kind, body)], [fd])
    return answer(sock)


def answer(sock):
    data = sock.recv(MESSAGE)
    return struct.unpack_from("<H", data)[0] if len(data) == MESSAGE else 0


class Peer:
    """One connection with its memory: rings to the server, then rings from it, then buffers."""

    def __init__(self, options):
        self.options = options
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(5)
        self.socket.connect(options.socket)
        self.rings = 2 * options.queues
        self.size = self.rings * (RING + (BUFFER << LOG2))
        self.fd = os.memfd_create("region", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, self.size)
        self.memory = mmap.mmap(self.fd, self.size)
        self.events = []
        for ring in range(self.rings):
            self.make_ring(ring)

    def make_ring(self, ring):
        at = ring * RING
        struct.pack_into("<IHH", self.memory, at, COOKIE, 0, 0)
        descs = array.array("I")
        for slot in range(1 << LOG2):
            offset = self.rings * RING + ((ring << LOG2) + slot) * BUFFER
            descs.extend((0, BUFFER, offset, 0))    # flags and region, length, offset, metadata
        self.memory[at + DESCS:at + RING] = descs.tobytes()

    def pause(self):
        if self.options.slow:
            time.sleep(self.options.slow)

    def shake_hands(self, until_connect=True):
        """True when the link is up."""
        if answer(self.socket) != HELLO:
            return False
        if ask(self.socket, INIT, struct.pack("<HIB", VERSION, self.options.id, 0)) != ACK:
            return False
        if ask(self.socket, ADD_REGION, struct.pack("<HQ", 0, self.size), self.fd) != ACK:
            return False
        for ring in range(self.rings):
            self.pause()
            self.events.append(os.eventfd(0, os.EFD_NONBLOCK))
            to_server = ring < self.options.queues
            body = struct.pack("<HHHIBH", int(to_server), ring % self.options.queues, 0, ring * RING, LOG2, 0)
            if ask(self.socket, ADD_RING, body, self.events[-1]) != ACK:
                return False
        self.pause()
        return until_connect and ask(self.socket, CONNECT, b"peer") == CONNECTED

    def fill(self):
        """All slots of all rings to the server full, and room in all from it."""
        for ring in range(self.rings):
            head = ctypes.c_uint16.from_buffer(self.memory, ring * RING + HEAD)
            head.value = (1 << LOG2) - 1
            del head

    def leave(self, how):
        if how == "disconnect":
            self.socket.send(message(DISCONNECT))
        elif how == "garbage":
            self.socket.send(message(77, os.urandom(100)))
        self.close()

    def close(self):
        self.socket.close()
        self.memory.close()
        for fd in [self.fd, *self.events]:
            os.close(fd)
        self.events = []


def connected(options, until_connect=True):
    """A peer whose link is up; the server may still be at the end of the last one."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        peer = Peer(options)
        if peer.shake_hands(until_connect) or not until_connect:
            return peer
        peer.close()
        time.sleep(0.002)
    sys.exit("the server does not let the peer in")


def one_round(options, how):
    peer = connected(options, how != "half")
    if how == "half":
        peer.close()
        return
    if how == "twice":
        second = Peer(options)
        if second.shake_hands():
            sys.exit("two peers are connected at once")
        second.close()
    peer.fill()
    peer.leave(how)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--rounds", type=int, default=300)
    parser.add_argument("-t", "--seconds", type=float, default=8)
    parser.add_argument("-q", "--queues", type=int, default=1)
    parser.add_argument("-i", "--id", type=int, default=0)
    parser.add_argument("--how", default="mix", choices=(*HOWS, "mix"))
    parser.add_argument("--slow", type=float, default=0, help="seconds between the steps of the handshake")
    parser.add_argument("socket")
    options = parser.parse_args()
    end, done = time.monotonic() + options.seconds, 0
    while done < options.rounds and time.monotonic() < end:
        try:
            one_round(options, HOWS[done % len(HOWS)] if options.how == "mix" else options.how)
        except OSError as error:
            sys.exit(f"after {done} rounds: {error}")
        done += 1
    print(f"{done} rounds")


main()
