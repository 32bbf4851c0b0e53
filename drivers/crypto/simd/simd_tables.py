#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Derives simd_tables.h: the linear layers around a field inversion that make the S-boxes of AES and SM4.

usage: simd_tables.py            prints the header
       simd_tables.py --check F  exit status 1 if F is not what would be printed

A linear map of bytes is a list of eight column images: M[i] is the image of 1 << i. See docs/crypto.md for the idea.
"""
import sys

AES_POLY, SM4_POLY = 0x11b, 0x1f5


def mul(a, b, poly):
    r = 0
    while b:
        if b & 1:
            r ^= a
        a <<= 1
        if a & 0x100:
            a ^= poly
        b >>= 1
    return r


def inverse(a, poly):
    r = 1
    for _ in range(254):
        r = mul(r, a, poly)
    return r


def rotl8(x, n):
    return (x << n | x >> (8 - n)) & 255


def app(m, x):
    r = 0
    for i, column in enumerate(m):
        if x >> i & 1:
            r ^= column
    return r


def comp(m, n):
    return [app(m, column) for column in n]


def add(m, n):
    return [a ^ b for a, b in zip(m, n)]


def minv(m):
    size = len(m)
    rows = [sum((m[c] >> r & 1) << c for c in range(size)) | 1 << size + r for r in range(size)]
    for c in range(size):
        p = next(r for r in range(c, size) if rows[r] >> c & 1)
        rows[c], rows[p] = rows[p], rows[c]
        for r in range(size):
            if r != c and rows[r] >> c & 1:
                rows[r] ^= rows[c]
    return [sum((rows[r] >> size + c & 1) << r for r in range(size)) for c in range(size)]


def weight(*maps):
    return sum(bin(column).count("1") for m in maps for column in m)


# FIPS 197, 5.1.1, and GB/T 32907, 6.2 with the field of the S-box that it gives as a table
AES_B = [(1 << i) ^ rotl8(1 << i, 1) ^ rotl8(1 << i, 2) ^ rotl8(1 << i, 3) ^ rotl8(1 << i, 4) for i in range(8)]
SM4_A = [sum((rotl8(0xa7, r) >> c & 1) << r for r in range(8)) for c in range(8)]
AES_S = [app(AES_B, inverse(x, AES_POLY)) ^ 0x63 for x in range(256)]
SM4_S = [app(SM4_A, inverse(app(SM4_A, x) ^ 0xd3, SM4_POLY)) ^ 0xd3 for x in range(256)]


# The tower GF(((2^2)^2)^2): w^2 = w + 1, z^2 = z + w, y^2 = y + v; low half first at each level.
def mul4(a, b):
    hi, lo = (a >> 1) & (b >> 1), a & b & 1
    cross = ((a >> 1) ^ a) & ((b >> 1) ^ b) & 1
    return (cross ^ lo) << 1 | (lo ^ hi)


def mul16(a, b):
    a1, a0, b1, b0 = a >> 2, a & 3, b >> 2, b & 3
    lo = mul4(a0, b0)
    return (mul4(a1 ^ a0, b1 ^ b0) ^ lo) << 2 | (lo ^ mul4(2, mul4(a1, b1)))


def mul256(a, b, v):
    a1, a0, b1, b0 = a >> 4, a & 15, b >> 4, b & 15
    lo = mul16(a0, b0)
    return (mul16(a1 ^ a0, b1 ^ b0) ^ lo) << 4 | (lo ^ mul16(v, mul16(a1, b1)))


V = next(v for v in range(8, 16) if all(mul16(y, y) ^ y ^ v for y in range(16)))


def tower(poly):
    """The isomorphisms from GF(2)[x]/poly to the tower, one for each root of poly in it."""
    for g in range(2, 256):
        powers = [1]
        while len(powers) < 9:
            powers.append(mul256(powers[-1], g, V))
        if app(powers, poly) == 0:
            yield powers[:8]


def bitsliced(poly, before, after):
    """The two linear layers around the tower's inversion, by the least number of ones."""
    return min(((comp(iso, before), iso, comp(after, minv(iso))) for iso in tower(poly)), key=lambda t: weight(t[0], t[2]))


def statements(m, constant):
    """C for b = M b ^ constant, by repeatedly computing the commonest pair of terms once (Paar)."""
    rows = [{("b[%d]" % c) for c in range(8) if m[c] >> r & 1} for r in range(8)]
    out, n = [], 0
    while True:
        pairs = {}
        for row in rows:
            terms = sorted(row)
            for i, a in enumerate(terms):
                for b in terms[i + 1:]:
                    pairs[a, b] = pairs.get((a, b), 0) + 1
        best = max(sorted(pairs), key=lambda p: pairs[p], default=None)
        if best is None or pairs[best] < 2:
            break
        out.append("\tconst bs_word t%d = %s ^ %s;" % (n, *best))
        for row in rows:
            if row.issuperset(best):
                row.difference_update(best)
                row.add("t%d" % n)
        n += 1
    for r, row in enumerate(rows):
        out.append("\tconst bs_word r%d = %s%s;" % (r, "~(" * (constant >> r & 1) + " ^ ".join(sorted(row)),
                                                   ")" * (constant >> r & 1)))
    out += ["", *("\tb[%d] = r%d;" % (r, r) for r in range(8))]
    return "\n".join(out)


def layer(name, m, constant):
    return "static inline void %s(bs_word b[8])\n{\n%s\n}\n" % (name, statements(m, constant))


def sm4_by_aes():
    """
    S4(x) = A2 SubBytes(T x ^ c1) ^ c2 has 8 * 255 solutions (field isomorphism, and a scale that inversion undoes).
    In the basis T the first map is gone, and A2 with the linear map L is circ(P+Q, P, P, Q) on the bytes of a word.
    """
    b_inverse = minv(AES_B)
    left, right = [(1 << i << 2) & 255 for i in range(8)], [(1 << i) >> 6 for i in range(8)]
    for g in range(2, 256):
        phi = [1]
        while len(phi) < 9:
            phi.append(mul(phi[-1], g, AES_POLY))
        if app(phi, SM4_POLY):
            continue
        phi = phi[:8]
        for s in range(1, 256):
            scale = [mul(1 << i, s, AES_POLY) for i in range(8)]
            t = comp(scale, comp(phi, SM4_A))
            a2 = comp(SM4_A, comp(minv(phi), comp(scale, b_inverse)))
            p = comp(t, comp(add(left, right), a2))
            q = comp(t, comp(add([1 << i for i in range(8)], right), a2))
            yield dict(t=t, c1=app(scale, app(phi, 0xd3)), a2=a2, c2=app(a2, 0x63) ^ 0xd3, p=p, q=q, left=left, right=right)


def circulant(r, p, q):
    """The 32-bit map whose byte j is R b_j + P b_{j+1} + P b_{j+2} + Q b_{j+3}."""
    return [sum(app((r, q, p, p)[(c // 8 - j) % 4 and 4 - (c // 8 - j) % 4 or 0], 1 << c % 8) << 8 * j for j in range(4))
            for c in range(32)]


def nibbles(name, m):
    out = ""
    for part, shift in (("LOW", 0), ("HIGH", 4)):
        values = ["0x%02x" % app(m, n << shift) for n in range(16)]
        out += "#define %s_%s \\\n\t%s, \\\n\t%s\n" % (name, part, ", ".join(values[:8]), ", ".join(values[8:]))
    return out


def gfni(m):
    """The matrix operand of gf2p8affineqb: byte 7 - r is the row of bit r."""
    return sum(sum((m[c] >> r & 1) << c for c in range(8)) << 8 * (7 - r) for r in range(8))


def header():
    best = min(sm4_by_aes(), key=lambda s: weight(s["p"], s["q"]))
    t, p, q = best["t"], best["p"], best["q"]
    assert all(app(best["a2"], AES_S[app(t, x) ^ best["c1"]]) ^ best["c2"] == SM4_S[x] for x in range(256))
    assert SM4_S[0] == 0xd6 and SM4_S[255] == 0x48 and AES_S[0x53] == 0xed
    whole = circulant(add(p, q), p, q)
    inverse_columns = minv(whole)
    out = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* Printed by simd_tables.py: do not edit. */\n"
    out += "#ifndef SIMD_TABLES_H\n#define SIMD_TABLES_H\n\n#include <stdint.h>\n\n"
    out += "/* SM4 in the basis T, around the S-box of AES */\n"
    for name, m in (("SM4_P", p), ("SM4_Q", q), ("SM4_T", t), ("SM4_T_INVERSE", minv(t))):
        out += nibbles(name, m)
    out += "#define SM4_T_COLUMNS %s\n" % ", ".join("0x%02x" % c for c in t)
    out += "#define SM4_T_INVERSE_COLUMNS %s\n" % ", ".join("0x%02x" % c for c in minv(t))
    out += "#define SM4_IN 0x%02x\n" % best["c1"]
    out += "#define SM4_OUT 0x%02x\n" % app(t, app(add(best["left"], best["right"]), best["c2"]))
    rows = [", ".join("0x%08x" % c for c in inverse_columns[i:i + 8]) for i in range(0, 32, 8)]
    out += "/* columns of the inverse of circ(P+Q, P, P, Q) */\n#define SM4_CIRC_INVERSE \\\n\t%s\n" % ", \\\n\t".join(rows)
    out += "\n/* The same with GFNI: inversion in GF(2)[x]/0x11b is part of the instruction. */\n"
    b = AES_B
    for name, m in (("SM4_GFNI_P", comp(p, b)), ("SM4_GFNI_Q", comp(q, b)), ("SM4_GFNI_T", t),
                    ("SM4_GFNI_T_INVERSE", minv(t))):
        out += "#define %s 0x%016xull\n" % (name, gfni(m))
    # P and Q meet the constant of SubBytes: byte j gets (P+Q+P+P+Q) 0x63 = P 0x63
    out += "#define SM4_GFNI_OUT 0x%02x\n" % (app(p, 0x63) ^ app(t, app(add(best["left"], best["right"]), best["c2"])))
    out += "\n#ifdef SIMD_BITSLICED\n\n"
    top, _, bottom = bitsliced(AES_POLY, [1 << i for i in range(8)], AES_B)
    out += "/* The tower's y^2 = y + v */\n#define BS_TOWER_V 0x%x\n\n" % V
    out += layer("bs_aes_in", top, 0) + "\n" + layer("bs_aes_out", bottom, 0x63) + "\n"
    top, iso, bottom = bitsliced(SM4_POLY, SM4_A, SM4_A)
    out += layer("bs_sm4_in", top, app(iso, 0xd3)) + "\n" + layer("bs_sm4_out", bottom, 0xd3)
    out += "\n#endif\n\n#endif\n"
    return out


def main():
    text = header()
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        with open(sys.argv[2], encoding="utf-8") as f:
            return 0 if f.read() == text else 1
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
