#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for the service manager: prints what comes to a notification socket (sd_notify(3)), a line a message.

usage: tests/tools/notify_listen.py SOCKET        prints "listening" first; ends when it is killed
"""
import os
import socket
import sys


def main():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(sys.argv[1])
        os.chmod(sys.argv[1], 0o666)
        print("listening", flush=True)
        while True:
            print(end.recv(4096).decode().rstrip("\n").replace("\n", " | "), flush=True)


main()
