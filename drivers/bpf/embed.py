#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a C source of a BPF object, so that the daemon has it with it.

usage: embed.py OBJECT SOURCE
"""
import sys


def main():
    data = open(sys.argv[1], "rb").read()
    rows = [", ".join(f"0x{byte:02x}" for byte in data[at:at + 16]) for at in range(0, len(data), 16)]
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write("/* SPDX-License-Identifier: BSD-3-Clause */\n"
                  "#include \"xdp_roce_object.h\"\n\n"
                  "_Alignas(8) const unsigned char xdp_roce_object[] = {\n\t" + ",\n\t".join(rows) + "};\n"
                  f"const size_t xdp_roce_object_bytes = {len(data)};\n")


if __name__ == "__main__":
    main()
