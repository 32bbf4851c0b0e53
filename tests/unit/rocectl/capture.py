# SPDX-License-Identifier: BSD-3-Clause
"""Frames and capture files for the tests of `rocectl decode`, made without any code of the project."""
import ipaddress
import json
import struct
import subprocess
import zlib

ETHERNET, RAW, SLL, SLL2, PPP = 1, 101, 113, 276, 9


def run(rocectl, *args, data=None, **kwargs):
    """Runs `rocectl decode`; returns exit code, output, errors."""
    done = subprocess.run([rocectl, "decode", *args], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False, **kwargs)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def records(rocectl, path, data=None):
    """The decoded packets of a capture, from --json; also the exit code."""
    code, out, _ = run(rocectl, "--json", str(path), data=data)
    return [json.loads(line) for line in out.splitlines()], code


def pcap(frames, link=ETHERNET, snaplen=65535, nano=False, start=(1700000000, 0), step=1000):
    """A pcap file of frames, each cut at snaplen; step is between them, in the file's own unit."""
    out = struct.pack("<IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    unit = 1000000000 if nano else 1000000
    for i, frame in enumerate(frames):
        at = start[1] + i * step
        kept = frame[:snaplen]
        out += struct.pack("<IIII", start[0] + at // unit, at % unit, len(kept), len(frame)) + kept
    return out


def pcapng(frames, link=ETHERNET):
    """A pcapng file with one section and one interface."""
    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        n = 12 + len(body)
        return struct.pack("<II", kind, n) + body + struct.pack("<I", n)

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack("<HHI", link, 0, 65535))
    for i, frame in enumerate(frames):
        out += block(6, struct.pack("<IIIII", 0, 0, i * 1000, len(frame), len(frame)) + frame)
    return out


def read_frames(path):
    """The frames of a little-endian pcap or pcapng file."""
    data = path.read_bytes()
    frames = []
    if data[:4] == b"\n\r\r\n":
        at = 0
        while at < len(data):
            kind, n = struct.unpack_from("<II", data, at)
            if kind == 6:
                kept = struct.unpack_from("<I", data, at + 20)[0]
                frames.append(data[at + 28:at + 28 + kept])
            at += n
        return frames
    at = 24
    while at < len(data):
        kept = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + kept])
        at += 16 + kept
    return frames


def ones_sum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ip(src, dst, body, proto=17, tos=0, ttl=64, frag=0x4000):
    src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if src.version == 6:
        return struct.pack("!IHBB", 6 << 28 | tos << 20, len(body), proto, ttl) + src.packed + dst.packed + body
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(body), 7, frag, ttl, proto, 0) + src.packed + dst.packed
    return head[:10] + struct.pack("!H", ones_sum(head) ^ 0xFFFF) + head[12:] + body


def icrc(l3):
    """IBTA annex A17: CRC-32 over eight bytes of ones and the packet with its variant fields as ones."""
    p = bytearray(l3)
    if p[0] >> 4 == 6:
        p[0] |= 0x0F
        variant, bth = (1, 2, 3, 7, 46, 47), 48
    else:
        variant, bth = (1, 8, 10, 11, 26, 27), 28
    for i in variant + (bth + 4,):
        p[i] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(p)))


def roce(body, src="10.0.0.1", dst="10.0.0.2", **kwargs):
    """The IP packet around a BTH and what follows it, with the right ICRC."""
    udp = struct.pack("!HHHH", 0xC001, 4791, 8 + len(body) + 4, 0)
    whole = ip(src, dst, udp + body + b"\0\0\0\0", **kwargs)
    return whole[:-4] + icrc(whole[:-4])


def bth(opcode, qpn=0x11, psn=5, flags=0, ack_req=False, byte4=0, pkey=0xFFFF):
    return struct.pack("!BBHIBBH", opcode, flags, pkey, byte4 << 24 | qpn, ack_req << 7, psn >> 16, psn & 0xFFFF)


def ether(l3, vlan=None, kind=None, dmac="020000000002", smac="020000000001"):
    kind = kind or (0x86DD if l3[0] >> 4 == 6 else 0x0800)
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return bytes.fromhex(dmac + smac) + tag + struct.pack("!H", kind) + l3
