#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the protected frames that tests/unit/crypt/test_frame.c compares with, by the text of docs/wire.md alone: AES-GCM of Python's
cryptography; SM4-GCM by its SM4 block cipher with counter mode and GHASH written here. Prints C.

usage: tests/data/crypto/psp.py
"""
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SPI = 0xA1B2C3D4
MACS = bytes.fromhex("020000000002020000000001")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def multiply(x, y):
    """In GF(2^128), NIST SP 800-38D, 6.3."""
    z = 0
    for i in range(127, -1, -1):
        if y >> i & 1:
            z ^= x
        x = (x >> 1) ^ (0xE1 << 120) if x & 1 else x >> 1
    return z


def sm4_gcm(key, nonce, text, aad):
    def block(data):
        return Cipher(algorithms.SM4(key), modes.ECB()).encryptor().update(data)

    def padded(data):
        return data + bytes(-len(data) % 16)

    def xor(a, b):
        return bytes(x ^ y for x, y in zip(a, b))

    h, y = int.from_bytes(block(bytes(16)), "big"), 0
    out = b"".join(xor(text[i:i + 16], block(nonce + struct.pack(">I", 2 + i // 16))) for i in range(0, len(text), 16))
    hashed = padded(aad) + padded(out) + struct.pack(">QQ", 8 * len(aad), 8 * len(out))
    for i in range(0, len(hashed), 16):
        y = multiply(y ^ int.from_bytes(hashed[i:i + 16], "big"), h)
    return out + xor(y.to_bytes(16, "big"), block(nonce + struct.pack(">I", 1)))


def aes_gcm(key, nonce, text, aad):
    return AESGCM(key).encrypt(nonce, text, aad)


def frame(six, vlan, version, seal, key, lane, number, n):
    """A protected frame of a UDP datagram of n bytes."""
    inner = struct.pack(">HHHH", 0xC001, 4791, 8 + n, 0) + bytes((i * 7 + n) & 255 for i in range(n))
    psp = bytes([17, 1, 0, version << 2 | 1]) + struct.pack(">IQ", SPI, number)
    sealed = seal(key, struct.pack(">IQ", SPI, number), inner, psp)
    body = struct.pack(">HHHH", 0xC001, 1000 + lane, 8 + len(psp) + len(sealed), 0) + psp + sealed
    if six:
        ip = bytes([0x60, 0x20, 0, 7]) + struct.pack(">HBB", len(body), 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2"
    else:
        ip = bytes([0x45, 0x6A]) + struct.pack(">HHHBBH", 20 + len(body), 0, 0x4000, 64, 17, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2])
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    tag = bytes([0x81, 0, 0x60, 42]) if vlan else b""
    return MACS + tag + (b"\x86\xdd" if six else b"\x08\x00") + ip + body


def show(name, data):
    print(f"static const uint8_t {name}[] = {{")
    for i in range(0, len(data), 16):
        print("\t" + " ".join(f"0x{b:02x}," for b in data[i:i + 16]))
    print("};")


def main():
    key = bytes(range(32))
    # RFC 8998, A.1, so that the code above is worth comparing with.
    known = sm4_gcm(bytes.fromhex("0123456789abcdeffedcba9876543210"), bytes.fromhex("00001234567800000000abcd"),
                    b"".join(bytes([c]) * 8 for c in b"\xaa\xbb\xcc\xdd\xee\xff\xee\xaa"),
                    bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
    assert known[-16:].hex() == "83de3541e4c2b58177e065a9bf7b62ec"
    show("aes_256_over_ip4", frame(False, False, 1, aes_gcm, key, 2, 1, 20))
    show("aes_128_over_ip4", frame(False, False, 0, aes_gcm, key[:16], 2, 1, 20))
    show("sm4_over_vlan_ip6", frame(True, True, 8, sm4_gcm, key[:16], 2, 0x0102030405, 20))


if __name__ == "__main__":
    main()
