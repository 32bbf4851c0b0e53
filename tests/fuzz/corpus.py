#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the fuzz targets' seed inputs of the captures and vectors, one folder a target.

usage: corpus.py TESTS-DIR OUT-DIR
"""
import hashlib
import json
import pathlib
import random
import struct
import sys

TESTS, OUT = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(TESTS / "unit" / "rocectl"))
sys.dont_write_bytecode = True
import capture  # noqa: E402

MAX_FRAME = 600    # long payloads teach the fuzzer nothing
PER_OPCODE = 12    # of one capture


def save(target, data):
    folder = OUT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


def l3_of(frame):
    return 18 if frame[12:14] == b"\x81\0" else 14


def bth_of(frame):
    l3 = l3_of(frame)
    return l3 + (28 if frame[l3] >> 4 == 4 else 48)


def captured():
    for path in sorted((TESTS / "data" / "captures").rglob("*.pcap")):
        seen = {}
        for frame in capture.read_frames(path):
            opcode = frame[bth_of(frame)] if len(frame) > bth_of(frame) else None
            seen[opcode] = seen.get(opcode, 0) + 1
            if seen[opcode] <= PER_OPCODE and len(frame) <= MAX_FRAME:
                yield frame


def mads():
    """For each capture the datagrams to QP 1, in order."""
    for path in sorted((TESTS / "data" / "captures").rglob("*.pcap")):
        row = []
        for frame in capture.read_frames(path):
            at = bth_of(frame)
            if len(frame) >= at + 20 + 256 + 4 and frame[at] == 0x64 and frame[at + 5:at + 8] == b"\0\0\1":
                row.append(frame[at + 20:at + 20 + 256])
        if row:
            yield row


def port_frames():
    """ARP, neighbour discovery and echo in all their forms."""
    pair4 = bytes.fromhex("020000000001" "0a000001" "020000000002" "0a000002")
    for op in (1, 2):
        yield capture.ether(bytes.fromhex("000108000604") + struct.pack("!H", op) + pair4 + bytes(18), kind=0x0806)
        yield capture.ether(bytes.fromhex("000108000604") + struct.pack("!H", op) + pair4, kind=0x0806, vlan=5)
    for kind in (0, 8):
        yield capture.ether(capture.ip("10.0.0.1", "10.0.0.2", bytes([kind, 0, 0, 0, 0, 1, 0, 2]) + b"ping", proto=1))
    for kind, src in ((128, "fd00::2"), (129, "fd00::2"), (135, "fd00::2"), (135, "::"), (136, "fd00::2")):
        body = bytes([kind, 0, 0, 0, 0x60 if kind == 136 else 0, 0, 0, 0])
        if kind > 129:
            body += bytes.fromhex("fd00" + "00" * 13 + "01")
            if src != "::":
                body += bytes([kind - 134, 1, 2, 0, 0, 0, 0, 9])
        dst = "ff02::1:ff00:1" if kind == 135 else "fd00::1"
        yield capture.ether(capture.ip(src, dst, body, proto=58, ttl=255))
    yield capture.ether(struct.pack("!HH8H", 0x0101, 0xFF, *range(8)) + bytes(26), kind=0x8808)


# Steps of fuzz_tp.c by number.
POST, RAW, INLINE, RECV, CRAFT, NOISE, TROUBLE, REREGISTER, MOVE, MODIFY, ALTER, FATES, RUN = range(13)

SELECTIVE = 64  # instead of a transport service: a reliable connection with selective repeat
FEW_HELD = 32   # with any service: three packets are kept before their turn, of all
ANY_SACK = 0xc0 # an opcode of CRAFT
ANY_MERGED = 0xe0 # another
MERGING = 128   # with SELECTIVE: short messages go together


def step(number, side, *values):
    return bytes([number << 1 | side, *values])


def post(side, opcode, length, flags=2):
    return step(POST, side, opcode, flags, 0, 0, 1, 2, 3, 1, 0, length, 0)


def recv(side, length):
    return step(RECV, side, 1, 8, length, 0)


def sack(what, block, psn, path, wait=0, right=1, further=()):
    """What an RC_SACK takes beyond other packets (change_sack(), add_echoes()): further packets are told of as (flags, PSN,
    path, wait) from that of the packet on; not right: the payload is of another length than they take."""
    map_bytes = bytes([0, 0, 0, 0, 0, 0, 0, 7]) if what & 1 else b""
    out = bytes([what | len(further) << 5]) + map_bytes + bytes([block, psn & 255, path & 255, wait, right])
    return out + b"".join(struct.pack("!BbbH", *one) for one in further)


def sacks():
    """Of one packet ahead, of any, of another PSN, on another path, long kept; of several; refused; more or less than there
    are bytes for."""
    for what, block, psn, path, wait in ((0, 0, 0, 0, 0), (1, 0, 1, 1, 1), (6, 0, 2, 0, 255), (2, 1, 0, 3, 0), (3, 0xc0, 5, 7, 9)):
        yield sack(what, block, psn, path, wait)
    yield sack(0, 0, 0, 0, 0, 1, [(0, 1, 1, 2)])
    yield sack(1, 0, 2, 0, 1, 1, [(0x40, 1, 1, 0xffff), (0x80, 2, 2, 0), (0xc0, 3, 3, 1)])
    yield sack(0, 0x40, 0, 2, 0, 1, [(0, k, k, k) for k in range(7)])
    yield sack(0, 0, 0, 0, 0, 1, [(0x3f, -1, -1, 0), (0, 127, 5, 0), (0, -128, 100, 0)])
    yield sack(0, 0, 0, 0, 0, 0, [(0, 1, 1, 2), (0, 2, 2, 2)])


def merged(count, wrong, parts, last=()):
    """What an RC_MERGED takes beyond other packets (add_messages()): of each message the opcode's index, length and address."""
    return bytes([count, wrong]) + b"".join(bytes([op, length, at, 0]) for op, length, at in parts) + bytes(last)


def all_merged():
    """Two, of each kind; of a kind that may not be there; more or fewer than is said; a byte short; one damaged."""
    for op in range(8):
        yield merged(2, 0, [(op, 1, 8), (3, 2, 9)])
    yield merged(3, 1 | 1 << 3, [(3, 1, 8)] * 3)
    yield merged(3, 1 | 31 << 3, [(0, 0, 8)] * 3)
    yield merged(2, 2, [(0, 1, 8)] * 2)
    yield merged(2, 3, [(0, 1, 8)] * 2, [0xff])
    yield merged(32, 0, [(0, 0, 8)] * 32)
    yield merged(33, 0, [(0, 0, 8)] * 33)
    yield merged(1, 0, [(0, 0, 8)])


def programs():
    """Each operation alone, then rows of random ones."""
    for setting in range(0, 256, 17):
        for service in (*range(8), SELECTIVE):
            yield bytes([setting, service]) + b"".join(
                recv(1, 200) + post(0, op, 30) + step(RUN, 0) for op in range(10)
            )
    for op in range(10):
        for fault in (0, 1, 2, 4, 8, 0xf0):
            yield b"\x08\0" + recv(1, 200) + step(TROUBLE, fault & 1 ^ 1, fault) + post(0, op, 30) + step(RUN, 0)
    for opcode in range(0x1e):
        for service in range(4):
            for keeps in (0, 16):
                yield (bytes([0, service | keeps]) + recv(1, 200) + post(1, 4, 200) + step(CRAFT, 1, opcode, 0, 4, 0) +
                       step(RUN, 0))
        yield bytes([0, SELECTIVE]) + recv(1, 200) + post(1, 4, 200) + step(CRAFT, 1, opcode, 0, 4, 0) + step(RUN, 0)
        yield b"\2\0" + post(0, 4, 200) + step(RUN, 0) + step(ALTER, 1, 0, 1, opcode) + step(RUN, 0)
    for fate in (0, 0b01, 0b0100, 0b01000100):
        for one in sacks():
            for service in (SELECTIVE, SELECTIVE | FEW_HELD):
                yield (bytes([0, service]) + step(FATES, 0, fate) + post(0, 4, 200) + post(0, 0, 200) +
                       step(CRAFT, 0, ANY_SACK, 4, 0, 0) + one + step(RUN, 0) + step(ALTER, 0, 1, 0) + one + step(RUN, 0))
        for one in all_merged():
            for service in (SELECTIVE, SELECTIVE | MERGING):
                yield (bytes([0, service]) + step(FATES, 0, fate) + recv(1, 200) + post(0, 4, 8) + post(0, 0, 8) +
                       step(CRAFT, 1, ANY_MERGED, 0, 0, 0) + one + step(RUN, 0) + step(ALTER, 0, 1, 0) + step(RUN, 0))
        for one in sacks():
            # one who has not agreed
            yield b"\0\0" + post(0, 4, 200) + step(CRAFT, 0, ANY_SACK, 4, 0, 0) + one + step(RUN, 0)
    rnd = random.Random(7)
    pick = {
        "send": lambda: post(rnd.randrange(2), rnd.randrange(7), rnd.choice((0, 1, 7, 14, 57, 220))),
        "recv": lambda: recv(rnd.randrange(2), rnd.choice((0, 1, 57, 220))),
        "raw": lambda: step(RAW, rnd.randrange(2), 96, *rnd.randbytes(96)),
        "inline": lambda: step(INLINE, 0, rnd.choice((0, 2)), 0, 0, 4, 1, 2, 3, 4, rnd.randrange(130)),
        "craft": lambda: step(CRAFT, rnd.randrange(2), rnd.randrange(30), rnd.randrange(6), rnd.randrange(32), 0),
        "merged": lambda: step(CRAFT, rnd.randrange(2), ANY_MERGED, rnd.randrange(8), 0, 0) + rnd.choice(list(all_merged())),
        "sack": lambda: step(CRAFT, rnd.randrange(2), ANY_SACK, rnd.randrange(16), 0, 0) + rnd.choice(list(sacks())),
        "alter": lambda: step(ALTER, rnd.randrange(2), rnd.randrange(4), 2, rnd.randrange(256)),
        "fates": lambda: step(FATES, 0, rnd.randrange(256)),
        "run": lambda: step(RUN, 0),
        "trouble": lambda: step(TROUBLE, rnd.randrange(2), 1 << rnd.randrange(8)),
        "move": lambda: step(MOVE, rnd.randrange(2), rnd.randrange(7)),
        "modify": lambda: step(MODIFY, rnd.randrange(2), *rnd.randbytes(11)),
        "reregister": lambda: step(REREGISTER, rnd.randrange(2), rnd.randrange(16)),
    }
    names = list(pick)
    often = [8, 4, 1, 2, 3, 3, 3, 4, 1, 6, 1, 1, 1, 1]
    for _ in range(120):
        row = rnd.choices(names, often, k=rnd.randrange(4, 48))
        row = b"".join(pick[name]() for name in row)
        yield bytes([rnd.randrange(256), rnd.randrange(64)]) + row
        yield bytes([rnd.randrange(256), SELECTIVE | rnd.choice((0, FEW_HELD, MERGING, MERGING | FEW_HELD))]) + row


# Actions of fuzz_vd.c by number.
(HELLO, PD, MR, CHANNEL, CQ, QP, UP, MODIFY_QP, AH, SRQ, MW, OBJECT, ANY, STORE, SEND, RECEIVE, INDEX, BELL, CQ_SIDE, CM,
 CM_CONN, CM_READ, CLOSE, DISCONNECT, TIME, RESOLVE, MOOD, PASS_FD, TRANSFER, MCAST, REREG, XRC, HOLE,
 SHUFFLE) = range(34)


def act(action, who, *values):
    return bytes([action, who, *values]).ljust(16, b"\0")


def session(who, kind=0, srq=0):
    """All the objects of a client, ready to send; queue pairs of a kind: RC, UC, UD."""
    yield act(HELLO, who)
    yield act(PD, who)
    yield act(MR, who, 0, 31, 0, 0, 0, 0x20)
    yield act(MR, who, 0, 7, 0, 0x38, 0, 0x20)  # half of it faults
    yield act(CHANNEL, who)
    yield act(CQ, who, 64, 0, 0x80, 5)
    yield act(SRQ, who, 0, 0, 32, 2)
    for _ in range(2):
        yield act(QP, who, 0, 0, 0, kind, 0x90, 16, 0x33, 64, srq)
    yield act(AH, who, 0, 0)
    yield act(MW, who, 0, 1)
    yield act(MW, who, 0, 2)
    yield act(CQ, who, 8, 0, 0x80, 6)
    yield act(CQ, who, 128, 0, 0, 0, 0, 0, 0, 0, 1)


def busy(who, rnd, flags=2):
    """Receives, then each kind of work request."""
    yield act(RECEIVE, who, 0, rnd.randrange(2), 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 3)
    yield act(CQ_SIDE, who, 0, 2)
    yield act(SRQ, who, 1, 0, 2, 0, 8)
    for op in rnd.sample(range(10), 10):
        size = rnd.choice((8, 64, 1000, 8000))
        yield act(SEND, who, 0, op, 1, flags, 0, 0, rnd.choice((0, 0, 0xf0, 0xe1, 0xfc)), 0, 0, 1, size & 255, size >> 8)
        yield act(CQ_SIDE, who, 0, 2, 0, 0, 0, 0, 1)
    yield act(TIME, who, 100, 0, 3, 1)
    # What faults, as the source and as the destination.
    yield act(RECEIVE, who, 0, rnd.randrange(2), 0, 0, 0, 0, 1, 0, 0, 0x3f, 0, 4, 1, 3)
    yield act(SEND, who, 0, rnd.choice((2, 4)), 1, flags, 0, 0, 0, 0, 0, 0x3f, 0, 4, 1)
    yield act(INDEX, who, 2, 0, 1, rnd.choice((0, 0x80)), 0x70, 0, 1)


def managed(datagram=0, answer=1, same=False):
    """One session listens, another connects, both end it. Or one does both, or the first refuses."""
    other = 0 if same else 1
    mine, accepted = (1, 2) if same else (0, 1)
    for who in sorted({0, other}):
        yield act(HELLO, who, 1)
        yield act(CM, who, 0)
    for who in (0, other):
        yield act(CM, who, 1, 0, datagram)
    yield act(CM, 0, 3, 0, 0, 1)
    yield act(CM, 0, 4, 0, 4, 1)
    yield act(CM, other, 5, mine, 0, 1, 0, 0, 200)
    yield act(CM_READ, other, 0, 8)
    yield act(CM, other, 6, mine, 0, 1, 0, 0, 200)
    yield act(CM_CONN, other, 0, mine, 0, 0, 0, 0, 2, 0x60)
    yield act(CM_READ, 0, 0, 8)
    yield act(CM, 0, 7, accepted, 0)
    for state in (1, 2, 3):
        yield act(CM, 0, 8, accepted, state)
    yield act(CM_CONN, 0, answer, accepted, 0, 0, 0, 0, 2, 0x61)
    for state in (1, 2, 3):
        yield act(CM, other, 8, mine, state)
    yield act(OBJECT, other, 13, mine)
    yield act(CM_READ, other, 0, 8)
    yield act(OBJECT, 0, 14, accepted)
    yield act(OBJECT, 0, 12, accepted)
    yield act(OBJECT, other, 12, mine)
    yield act(TIME, 0, 100, 0, 7, 1)


def shared():
    """A domain, a target at one session, a shared receive queue at another, and who sends to it; then they end."""
    for who in range(3):
        yield act(HELLO, who)
        yield act(XRC, who, 0, 0, 0)
        yield act(PD, who)
        yield act(MR, who, 0, 31, 0, 0, 0, 0x20, 0, 1, who)
        yield act(CQ, who, 64, 0, 0, 5)
    yield act(QP, 0, 0, 0, 0, 5, 0x90, 16, 0x33, 64)
    yield act(XRC, 1, 2, 0, 0, 0)
    yield act(SRQ, 1, 0, 0, 32, 2, 0, 0, 0, 0, 1)
    yield act(QP, 2, 0, 0, 0, 4, 0x90, 16, 0x33, 64)
    yield act(UP, 2, 0, 0xc0)
    yield act(UP, 0, 0, 0xc2)
    for op in range(12):
        yield act(RECEIVE, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 3)
        yield act(SEND, 2, 0, op, 1, 0x22, 0, 0, 0xe1, 0, 0, 1, 64)
        yield act(SHUFFLE, 0, 0x10, 0x32, 0x21)
    yield act(SRQ, 1, 1, 0, 1, 100)
    yield act(REREG, 1, 0, 1, 0, 0, 0, 1, 0, 8)
    yield act(SEND, 2, 0, 0, 1, 0x22, 0, 0, 0xe1, 0, 0, 1, 0, 0x1f)
    yield act(HOLE, 1, 0, 0, 0, 0x20)
    yield act(SEND, 2, 0, 2, 1, 0x22, 0, 0, 0xe1, 0, 0, 1, 0, 0x1f)
    yield act(DISCONNECT, 1)
    yield act(SEND, 2, 0, 0, 1, 0x22, 0, 0, 0xe1, 0, 0, 1, 64)
    yield act(TIME, 0, 100, 0, 3, 1)


def scripts():
    """Lives of hostile clients: orderly ones, then such with a wrong step anywhere, or an early end."""
    rnd = random.Random(3)
    lives = []
    for kind in range(3):
        for srq in (0, 1):
            for peer in (0, 0x60, 0x61, 0xc1):
                lives.append([*session(0, kind, srq), *session(1, kind), act(UP, 0, 0, peer), act(UP, 1, 0, 0xc0),
                              *busy(0, rnd, 0x12 if kind == 2 else 2), *busy(1, rnd), act(TRANSFER, 0)])
    for datagram in (0, 1):
        for answer in (1, 3):
            for same in (False, True):
                lives.append([*managed(datagram, answer, same)])
    lives.append([act(RESOLVE, 0, 1), *managed(), act(RESOLVE, 0, 0, 1), act(CM_READ, 1, 0, 8)])
    lives.append([*shared(), act(TRANSFER, 0)])
    # Others' memory by their keys: written through the victim's queue pair, and by a read of the victim's memory.
    for who in (0, 1):
        start = [*session(0), *session(1), act(UP, who, 0, 0)]
        lives.append([*start, act(SEND, who, 0, 0, 1, 2, 1, 0xfd, 0xfd, 0, 0, 0, 64)])
        lives.append([*start, act(SEND, who, 0, 4, 1, 2, 0, 0xff, 0xf0, 0, who, 0xfd, 64, 0, 0xfc + who)])
    # Two in a group, one of which sends to it; then ids.
    lives.append([*session(0, 2), *session(1, 2), act(UP, 0), act(UP, 1), act(MCAST, 0, 0, 0, 1), act(MCAST, 1, 0, 0, 1),
                  act(AH, 0, 0, 0xe1), act(RECEIVE, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 4, 0, 3),
                  act(SEND, 0, 0, 2, 1, 0x12, 0, 1, 0xfe, 0, 0, 0, 64), act(OBJECT, 1, 5, 0), act(MCAST, 0, 1, 0, 1)])
    lives.append([*managed(1), act(CM, 0, 1, 0, 1), act(CM, 0, 3, 2, 0, 0), act(MCAST, 0, 2, 2, 1), act(MCAST, 0, 2, 2, 2),
                  act(CM_READ, 0, 0, 9), act(MCAST, 0, 3, 2, 1), act(OBJECT, 0, 11, 2)])
    # Events that nobody reads: of completion queues, then of ids.
    for read in (act(TIME, 0, 1), act(CQ_SIDE, 0, 0, 2, 0, 0, 0, 0, 1)):
        lives.append([*session(0), act(UP, 0, 0, 0x60), *40 * [act(CQ_SIDE, 0, 0, 2, 0, 0, 0, 0, 8), act(
            SEND, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)], read, act(INDEX, 0, 0, 0, 0, 0, 99)])
    lives.append([act(HELLO, 0, 1), act(CM, 0, 0), act(CM, 0, 0), act(CM, 0, 1), *60 * [act(CM, 0, 5, 0, 0, 0x0c)],
                  *8 * [act(CM, 0, 1), act(CM, 0, 5, 7, 0, 1)], act(CM, 0, 7, 0, 1), act(OBJECT, 0, 11, 1),
                  act(CM_READ, 0, 0, 99)])
    for op in range(15):
        lives.append([*session(0), act(UP, 0, 0, 0x60), act(OBJECT, 0, op, 0), act(OBJECT, 0, op, 0), *busy(0, rnd)])
    yield from (b"".join(life) for life in lives)
    wrong = (STORE, INDEX, INDEX, BELL, CLOSE, DISCONNECT, MODIFY_QP, ANY, RESOLVE, MOOD, PASS_FD, OBJECT, CM, SEND, TRANSFER, MCAST)
    for _ in range(400):
        life = list(rnd.choice(lives))
        for _ in range(rnd.randrange(1, 6)):
            life.insert(rnd.randrange(len(life)), act(rnd.choice(wrong), rnd.randrange(2), *rnd.randbytes(14)))
        if rnd.random() < 0.3:
            life.insert(rnd.randrange(len(life)), act(DISCONNECT, rnd.randrange(2)))
        yield b"".join(life)


def commands():
    """Of roce-fabric's control socket: each with each place."""
    places = ("", " host 1", " leaf 1", " spine 1", " leaf 1 spine 0 count 2", " link 3 count 4", " link 3 host 2", " spine 9", " count 2")
    for word in ("help", "stats", "links", "reset", "restore", "cut", "rate", "loss", "corrupt", "repeat", "delay", "pause"):
        for place in places:
            for values in ("", " 0", " 100", " 1000000 9", " -1", " 18446744073709551616"):
                yield (word + place + values).encode()
    for rule in ("drop opcode read_response qp 17 nth 3", "drop opcode ack nth 7 every 7 count 0", "corrupt psn 100 count 1",
                 "delay opcode SEND_LAST nth 2 delay_us 5000", "reorder opcode send,write packets 2", "duplicate packets 3 delay_us 9",
                 "mark from 0 to 1 src 10.0.0.0/24 dst fd00::2", "icrc message 2 again true", "jump by 16777215 msn 3 name far",
                 "count", "drop qp -1", "drop frob 3"):
        yield b"impair " + rule.encode()
    for line in ("impair", "impairments", "clear", "clear 3", "clear far"):
        yield line.encode()


# Steps and fates of fuzz_tunnel.c by number.
T_HOST, T_HOST_RAW, T_FABRIC_RAW, T_TUNNEL_RAW, T_DELIVER, T_TIME, T_JUMP, T_DELIVER_ALL = range(8)
WHOLE, TWICE, MARKED, LOST, FLIPPED, CUT = range(6)


def move(what, side=0, value=0, *values):
    return bytes([side << 7 | value << 3 | what, *values])


def tunnels(frames):
    """Lives of two gateways: packets in all orders and with all fates, their answers, the reports of both; then any frames."""
    rnd = random.Random(5)
    for _ in range(240):
        fates = rnd.choice(([WHOLE], [WHOLE], [WHOLE, WHOLE, TWICE], [WHOLE, LOST], [WHOLE, MARKED], range(4), range(6)))
        flows = [(rnd.randrange(256), rnd.randrange(32)) for _ in range(rnd.choice((1, 2, 2, 8)))]
        life = [bytes([rnd.choice((0, 0, 2, 4, 16, rnd.randrange(64)))])]
        for psn in range(rnd.randrange(2, 40)):
            how, who = rnd.choice(flows)
            life.append(move(T_HOST, rnd.choice((0, 0, 0, 1)), 0, how, who, psn & 255, rnd.choice((0, 1, 60, 255))))
            while rnd.random() < 0.45:
                life.append(move(T_DELIVER, 0, rnd.choice(list(fates)), rnd.choice((0, 1, 2, 9)), 0, rnd.randrange(100), rnd.randrange(8)))
            if rnd.random() < 0.2:
                life.append(move(T_TIME, 0, rnd.randrange(16), rnd.randrange(256)))
            if rnd.random() < 0.05:
                life.append(move(T_JUMP, 0, rnd.randrange(14), rnd.randrange(256)))
        life += [move(T_DELIVER_ALL), move(T_TIME, 0, 12, 255), move(T_DELIVER_ALL), move(T_TIME, 0, 10, 255)]
        yield b"".join(life)
    # The last packet comes first, and others in front of it when its wait is nearly over.
    wait = move(T_TIME, 0, 12, 231)
    life = [move(T_HOST, 0, 0, 0, 0, psn, 1) for psn in range(10)]
    yield b"\0" + b"".join(life) + b"".join([move(T_DELIVER, 0, WHOLE, 9), wait, *[move(T_DELIVER, 0, WHOLE, n) for n in (7, 0, 0)], 3 * wait])
    for frame in frames:
        n = struct.pack(">H", len(frame))
        yield b"\0" + move(T_HOST_RAW, 0, 0, 0) + n + frame + move(T_FABRIC_RAW, 1, 0, 1) + n + frame
        for how in (0, 3):
            header = struct.pack(">BBHIIIx", 0, rnd.randrange(4), rnd.randrange(9), rnd.randrange(1 << 32), rnd.randrange(4) << 8, rnd.randrange(9))[:16]
            inner = header + frame[l3_of(frame):]
            yield bytes([rnd.randrange(64)]) + 2 * (move(T_TUNNEL_RAW, 0, 0, how, 1) + struct.pack(">H", len(inner)) + inner + move(T_TIME, 0, 12, 255))
    report = struct.pack(">BBHIII", 1, 2, 0, 9, 0, 0) + struct.pack(">BBHIIII", 0, 0, 1, 1, 0, 5, 6) + struct.pack(">BBHIIII", 3, 0, 9, 9, 9, 5, 6)
    probe = struct.pack(">BBHIII", 2, 1, 1, 9, 0, 0)
    for text in (report, probe, report[:-1], b"\x0f" + probe[1:], b"\x10" + probe[1:]):
        yield b"\0" + move(T_TUNNEL_RAW, 0, 0, 0, 1) + struct.pack(">H", len(text)) + text + move(T_TIME, 0, 12, 255)


def main():
    vectors = json.loads((TESTS / "data" / "vectors.json").read_text())
    frames = [bytes.fromhex(v["frame_hex"]) for v in vectors if "frame_hex" in v]
    for frame in frames + list(captured()) + list(port_frames()):
        if len(frame) <= MAX_FRAME:
            save("frame", b"\x80" + frame)
    for frame in port_frames():
        save("arp_nd", b"\x01" + frame)
        save("fabric", b"\0" + frame)
    for frame in frames:
        save("fabric", b"\0" + frame)
    for command in commands():
        save("fabric", b"\1" + command)
    for row in mads():
        for mad in row:
            save("cm", b"\0" + mad)
        # What the passive side sees of it, and the active side.
        passive = [mad for mad in row if mad[17] in (0x10, 0x14, 0x15, 0x16, 0x17)]
        active = [mad for mad in row if mad[17] in (0x12, 0x13, 0x16, 0x18)]
        for react in (0x09, 0x19, 0x29, 0x39):
            save("cm", b"".join(bytes([react]) + mad for mad in passive[:12]))
            save("cm", b"\x80" + bytes(256) + b"".join(bytes([react]) + mad for mad in active[:12]))
    # The same with an offer to agree to more, which the driver makes right.
    for row in mads():
        offers = [mad[:-16] + b"rced\1\1\1" + bytes(9) if mad[17] in (0x10, 0x13) else mad for mad in row]
        for react in (0x09, 0x19, 0x29, 0x39):
            save("cm", b"".join(bytes([react]) + mad for mad in offers[:12]))
            save("cm", b"\x80" + bytes(256) + b"".join(bytes([react]) + mad for mad in offers[:12] if mad[17] != 0x10))
    hello = b"\0\x40\0\7" + bytes(12) + b"\x0a\0\0\1" + bytes(12) + b"\x0a\0\0\2"
    ask = b"\1\7\2\3" + bytes(12) + b"\0\x17" + bytes(6) + b"\0\0\0\5\xff\xff" + bytes(10) + hello + bytes(180)
    for react in (0x09, 0x19, 0x29, 0x39):
        save("cm", 2 * (bytes([react]) + ask))
    for kind in range(0x10, 0x1b):
        mad = b"\1\7\2\3" + bytes(12) + bytes([0, kind]) + bytes(6) + bytes(range(1, 233))
        save("cm", b"\x09" + mad)
        save("cm", b"\xc0" + bytes(256) + b"\x09" + mad)
    for program in programs():
        save("tp", program)
    for script in scripts():
        save("vd", script)
    for life in tunnels([frame for frame in frames + list(port_frames()) if len(frame) <= MAX_FRAME]):
        save("tunnel", life)
    for path in (TESTS.parent / "config" / "cc").glob("*.model"):
        save("model", path.read_bytes())
    save("model", b"roced-cc-model 1\nfirst_packets 4\nshare_percent 150\ntrees 1\ntree 1\nsplit delay 1024\nleaf 60\nleaf -60\nend\n")
    # For protection: a first byte, and a frame of UDP over IPv4 to be sealed, or one that has the form of a sealed one.
    udp = bytes.fromhex("c00112b70010000001020304050607080910")[:16]
    ip = bytes.fromhex("45000024000040004011268b0a0000010a00000a")
    ip = ip[:10] + b"\0\0" + ip[12:]
    total = sum(int.from_bytes(ip[k:k + 2], "big") for k in range(0, 20, 2))
    ip = ip[:10] + (0xFFFF - (total % 0xFFFF)).to_bytes(2, "big") + ip[12:]
    frame = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + ip + udp
    for first in (0, 1, 3, 0xFF):
        save("psp", bytes([first]) + frame)


if __name__ == "__main__":
    main()
