#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns vectors.json (frames with known fields and right ICRCs) into a C table."""
import json
import sys

print("/* Made from vectors.json. */")
print("static const struct vector vectors[] = {")
for v in json.load(open(sys.argv[1])):
    if "frame_hex" not in v:
        continue
    frame = bytes.fromhex(v["frame_hex"])
    data = "".join("\\x%02x" % b for b in frame)
    print('\t{"%s", %d, (const uint8_t *)"%s", %s, %d, %d, %d, %d, %s, %d},' % (
        v["id"], len(frame), data, v["opcode"], v["dqpn"], v["psn"], v["padcnt"], v["ackreq"],
        "0x" + v["pkey"], v["version"].startswith("v1")))
print("};")
