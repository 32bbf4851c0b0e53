#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends PFC frames (IEEE 802.1Qbb) on an interface.

usage: pause.py INTERFACE PRIORITIES QUANTA SECONDS

PRIORITIES is a comma-separated list; a frame is sent every 10 ms for SECONDS, 0: one frame.
"""
import socket
import struct
import sys
import time

ETHERTYPE_CONTROL = 0x8808
OPCODE_PFC = 0x0101
PERIOD_S = 0.01


def frame(mac, priorities, quanta):
    enabled = sum(1 << p for p in priorities)
    times = [quanta if p in priorities else 0 for p in range(8)]
    body = struct.pack(">HHH8H", ETHERTYPE_CONTROL, OPCODE_PFC, enabled, *times)
    return (bytes.fromhex("0180c2000001") + mac + body).ljust(60, b"\0")


def main():
    interface, priorities, quanta, seconds = sys.argv[1:]
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((interface, 0))
    data = frame(link.getsockname()[4], [int(p) for p in priorities.split(",")], int(quanta))
    end = time.monotonic() + float(seconds)
    while True:
        link.send(data)
        if time.monotonic() >= end:
            break
        time.sleep(PERIOD_S)


if __name__ == "__main__":
    main()
