#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every field that `rocectl decode --json` prints, against what tshark reads in the same packets.

usage: test_oracle.py ROCECTL CAPTURES-DIR VECTORS.JSON
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import capture

SKIP = 77
GSI_QPN = 1
# Wireshark 4.0 does not know these opcodes; it reads their BTH only.
UNKNOWN_TO_TSHARK = {"RC_FLUSH", "RC_ATOMIC_WRITE", "UNKNOWN"}

# JSON key (dots lead into objects) -> tshark fields, the first that is there.
BTH = {
    "opcode": ["infiniband.bth.opcode"],
    "solicited": ["infiniband.bth.se"],
    "migreq": ["infiniband.bth.m"],
    "tver": ["infiniband.bth.tver"],
    "pkey": ["infiniband.bth.p_key"],
    "qpn": ["infiniband.bth.destqp"],
    "ack_req": ["infiniband.bth.a"],
    "resv7": ["infiniband.bth.reserved7"],
    "psn": ["infiniband.bth.psn"],
}
L3 = {
    "src": ["ip.src", "ipv6.src", "infiniband.grh.sgid"],
    "dst": ["ip.dst", "ipv6.dst", "infiniband.grh.dgid"],
    "tos": ["ip.dsfield", "ipv6.tclass", "infiniband.grh.tclass"],
    "ttl": ["ip.ttl", "ipv6.hlim", "infiniband.grh.hoplmt"],
    "ip_id": ["ip.id"],
    "udp_sport": ["udp.srcport"],
    "smac": ["eth.src"],
    "dmac": ["eth.dst"],
    "number": ["frame.number"],
    "frame_bytes": ["frame.len"],
    "rel_time": ["frame.time_relative"],
    "vlan": ["vlan.id"],
}
EXT = {
    "pad": ["infiniband.bth.padcnt"],
    "qkey": ["infiniband.deth.q_key"],
    "sqpn": ["infiniband.deth.srcqp"],
    "va": ["infiniband.reth.va"],
    "rkey": ["infiniband.reth.r_key"],
    "dma_bytes": ["infiniband.reth.dmalen"],
    "swap_add": ["infiniband.atomiceth.swapdt"],
    "compare": ["infiniband.atomiceth.cmpdt"],
    "syndrome": ["infiniband.aeth.syndrome"],
    "msn": ["infiniband.aeth.msn"],
    "atomic_orig": ["infiniband.atomicacketh.origremdt"],
    "imm": ["infiniband.immdt"],
    "inv_rkey": ["infiniband.ieth"],
}
# The CM's fields, with the type they belong to. tshark 4.0 reads neither SIDR nor MRA, and it takes the
# path's flow label for 12 bits wide (it has 20, IBTA 12.7.21) and the packet rate from the wrong bits.
REQ = {
    "local_comm_id": "", "service_id": "serviceid", "local_ca_guid": "localcaguid",
    "local_qkey": "localqkey", "local_qpn": "localqpn", "responder_resources": "responderres",
    "local_eecn": "localeecn", "initiator_depth": "initdepth", "remote_eecn": "remoteeecn",
    "remote_cm_response_timeout": "remoteresptout", "transport_type": "transpsvctype",
    "flow_control": "e2eflowctrl", "starting_psn": "startpsn",
    "local_cm_response_timeout": "localresptout", "retry_count": "retrcount", "pkey": "pkey",
    "path_mtu": "pppmtu", "rdc_exists": "rdcexist", "rnr_retry_count": "rnrretrcount",
    "max_cm_retries": "maxcmretr", "srq": "srq", "extended_transport_type": "ext_transport",
    "primary.local_lid": "prim_locallid", "primary.remote_lid": "prim_remotelid",
    "primary.traffic_class": "prim_tfcclass", "primary.hop_limit": "prim_hoplim",
    "primary.sl": "prim_sl", "primary.subnet_local": "prim_subnetlocal",
    "primary.local_ack_timeout": "prim_localacktout",
    "alternate.local_lid": "alt_locallid", "alternate.remote_lid": "alt_remotelid",
    "hello/sport": "ip_cm.sport", "hello/dport": "serviceid.dport",
    "hello/ip_version": "ip_cm.ipv",
}
REP = {
    "local_comm_id": "", "remote_comm_id": "remotecommid", "local_qkey": "localqkey",
    "local_qpn": "localqpn", "local_eecn": "localeecn", "starting_psn": "startpsn",
    "responder_resources": "respres", "initiator_depth": "initdepth",
    "target_ack_delay": "tgtackdelay", "failover_accepted": "failoveracc",
    "flow_control": "e2eflowctrl", "rnr_retry_count": "rnrretrcount", "srq": "srq",
    "local_ca_guid": "localcaguid", "private_data": "private",
}
PAIR = {"local_comm_id": "localcommid", "remote_comm_id": "remotecommid", "private_data": "private"}
REJ = dict(PAIR, message_rejected="msgrej", rejected_info_length="rejinfolen", reason="reason", ari="ari")
CM = {"REQ": ("req", REQ), "REP": ("rep", REP), "RTU": ("rtu", PAIR), "REJ": ("rej", REJ),
      "DREQ": ("dreq", PAIR), "DREP": ("drsp", PAIR)}
GIDS = {
    "primary.local_gid": ["infiniband.cm.req.prim_localgid", "infiniband.cm.req.prim_localgid_ipv4"],
    "primary.remote_gid": ["infiniband.cm.req.prim_remotegid", "infiniband.cm.req.prim_remotegid_ipv4"],
    "hello/src": ["infiniband.cm.req.ip_cm.sip6", "infiniband.cm.req.ip_cm.sip4"],
    "hello/dst": ["infiniband.cm.req.ip_cm.dip6", "infiniband.cm.req.ip_cm.dip4"],
}


def cm_fields(kind):
    """The map of one CM message type in the form of the maps above."""
    name, fields = CM[kind]
    out = {key: [".".join(filter(None, ["infiniband.cm", name, f]))] for key, f in fields.items()}
    out["tid"] = ["infiniband.mad.transactionid"]
    if kind == "REQ":
        out.update(GIDS)
    return out


def all_fields():
    maps = [BTH, L3, EXT] + [cm_fields(kind) for kind in CM]
    return sorted({f for m in maps for names in m.values() for f in names} |
                  {"infiniband.invariant.crc", "infiniband.payload"})


def tshark(path):
    """One dictionary a packet, of the fields that it has."""
    names = all_fields()
    # A vector has source port 69, which tshark would rather read as TFTP.
    cmd = ["tshark", "-n", "--disable-protocol", "tftp", "-r", str(path), "-T", "fields",
           "-E", "occurrence=f", "-E", "separator=|"]
    for name in names:
        cmd += ["-e", name]
    out = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300, check=True)
    for line in out.stdout.decode().splitlines():
        yield {n: v for n, v in zip(names, line.split("|")) if v != ""}


def look_up(record, key):
    for part in key.split("/"):
        if part not in record:
            return None
        record = record[part]
    return record


def same(ours, theirs):
    """Numbers in any notation, byte strings, addresses."""
    if isinstance(ours, str) and not ours.startswith("0x"):
        return ours.lower() == theirs.replace("::ffff:", "") or ours.lower() == theirs
    number = int(ours, 16) if isinstance(ours, str) else int(ours)
    for base in (0, 16):
        try:
            if int(theirs, base) == number:
                return True
        except ValueError:
            pass
    return False


class Check:
    def __init__(self):
        self.failed = 0
        self.seen = collections.Counter()

    def fail(self, where, text):
        self.failed += 1
        if self.failed <= 20:
            print("%s: %s" % (where, text))

    def fields(self, where, fields, record, oracle):
        for key, names in fields.items():
            ours = look_up(record, key)
            theirs = next((oracle[n] for n in names if n in oracle), None)
            if ours is None and theirs is None:
                continue
            self.seen[key] += 1
            if ours is None or theirs is None or not same(ours, theirs):
                self.fail(where, "%s: rocectl says %r, tshark %r" % (key, ours, theirs))

    def packet(self, where, record, oracle):
        self.fields(where, L3, record, oracle)
        if "opcode" not in record:
            if "infiniband.bth.opcode" in oracle and "malformed" not in record:
                self.fail(where, "rocectl sees no BTH")
            return
        self.fields(where, BTH, record, oracle)
        if record["opcode_name"] in UNKNOWN_TO_TSHARK or "malformed" in record:
            return
        self.fields(where, EXT, record, oracle)
        payload = len(oracle.get("infiniband.payload", "")) // 2
        if payload and payload not in (record["payload_bytes"], record["payload_bytes"] + record["pad"]):
            self.fail(where, "payload: %d, %d bytes" % (record["payload_bytes"], payload))
        kind = record.get("cm", {}).get("type")
        if record["qpn"] == GSI_QPN and kind in CM:
            self.fields(where, cm_fields(kind), record["cm"], oracle)

    def file(self, rocectl, path):
        ours, _ = capture.records(rocectl, path)
        theirs = list(tshark(path))
        if len(ours) != len(theirs):
            self.fail(path.name, "rocectl has %d packets, tshark %d" % (len(ours), len(theirs)))
        for record, oracle in zip(ours, theirs):
            self.packet("%s %d" % (path.name, record["number"]), record, oracle)


def main():
    rocectl, captures, vectors = sys.argv[1:4]
    if not shutil.which("tshark"):
        print("SKIP: tshark is not installed")
        return SKIP
    check = Check()
    for path in sorted(pathlib.Path(captures).rglob("*.pcap")):
        check.file(rocectl, path)
    frames = [bytes.fromhex(v["frame_hex"]) for v in json.loads(pathlib.Path(vectors).read_text()) if "frame_hex" in v]
    with tempfile.TemporaryDirectory() as tmp:
        path = pathlib.Path(tmp) / "vectors.pcap"
        tagged = [f[:12] + b"\x81\x00\x60\x07" + f[12:] for f in frames]
        path.write_bytes(capture.pcap(frames + tagged))
        check.file(rocectl, path)
    for key in list(BTH) + list(L3) + list(EXT) + ["tid", "hello/src", "reason", "primary.local_gid"]:
        if not check.seen[key]:
            check.fail("all captures", "no packet has %s" % key)
    print("%d fields compared, %d differ" % (sum(check.seen.values()), check.failed))
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
