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
    fields = {
        "id": '"%s"' % v["id"],
        "n": len(frame),
        "frame": '(const uint8_t *)"%s"' % data,
        "opcode": v["opcode"],
        "dqpn": v["dqpn"],
        "psn": v["psn"],
        "pad": v["padcnt"],
        "ack_req": v["ackreq"],
        "se": v["se"],
        "migreq": v["migreq"],
        "fecn_becn": v["fecn_becn"],
        "pkey": "0x" + v["pkey"],
        "icrc": '(const uint8_t *)"%s"' % "".join(
            "\\x" + v["icrc_wire_hex"][i:i + 2] for i in range(0, 8, 2)),
        "has_aeth": int("aeth_syndrome" in v),
        "syndrome": v.get("aeth_syndrome", 0),
        "msn": v.get("aeth_msn", 0),
        "v1": int(v["version"].startswith("v1")),
        "v6": int("IPv4" not in v["version"]),
    }
    print("\t{" + ", ".join(".%s = %s" % f for f in fields.items()) + "},")
print("};")
