#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/decode.md promises of `rocectl decode`: exit codes, keys, damaged input, link types.

usage: test_decode.py ROCECTL CAPTURES-DIR VECTORS.JSON
"""
import ipaddress
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import capture
from capture import bth, ether, ip, pcap, pcapng, read_frames, roce

ROCECTL = CAPTURES = VECTORS = None
# Captures with frames that are wrong on purpose: packets with a bad ICRC.
BAD_ICRC = {"6.12_probe.pcap": [18], "6.12_probe2.pcap": [2, 4, 6]}

SEND = roce(bth(0x04, ack_req=True) + b"payload.")
ACK = roce(bth(0x11) + b"\x1f\0\0\7", src="10.0.0.2", dst="10.0.0.1")


def decode(data, *args):
    return capture.run(ROCECTL, *args, "-", data=data)


def one(frame, **kwargs):
    """The JSON record of a single frame."""
    found, code = capture.records(ROCECTL, "-", data=pcap([frame], **kwargs))
    assert len(found) == 1, found
    return found[0], code


def break_icrc(frame):
    return frame[:-1] + bytes([frame[-1] ^ 0xFF])


class Captures(unittest.TestCase):
    def test_icrc_and_exit_code_of_every_capture(self):
        for path in sorted(CAPTURES.rglob("*.pcap")):
            found, code = capture.records(ROCECTL, path)
            bad = [r["number"] for r in found if r.get("icrc") == "bad"]
            self.assertEqual(bad, BAD_ICRC.get(path.name, []), path)
            self.assertEqual(code, 1 if bad else 0, path)

    def test_icrc_against_zlib(self):
        """The same verdict as a CRC made here with zlib."""
        for path in sorted(CAPTURES.rglob("*.pcap")):
            frames = read_frames(path)
            found, _ = capture.records(ROCECTL, path)
            self.assertEqual(len(found), len(frames))
            for frame, record in zip(frames, found):
                if "icrc" in record:
                    l3 = frame[14:14 + struct.unpack("!H", frame[16:18])[0]] if frame[14] == 0x45 \
                        else frame[14:54 + struct.unpack("!H", frame[18:20])[0]]
                    right = capture.icrc(l3[:-4]) == l3[-4:]
                    self.assertEqual(record["icrc"], "ok" if right else "bad")

    def test_vectors_have_right_icrcs(self):
        vectors = json.loads(pathlib.Path(VECTORS).read_text())
        frames = [bytes.fromhex(v["frame_hex"]) for v in vectors if "frame_hex" in v]
        found, code = capture.records(ROCECTL, "-", data=pcap(frames))
        self.assertEqual([r["icrc"] for r in found], ["ok"] * len(frames))
        self.assertEqual([r["opcode_name"] for r in found], [v["name"] for v in vectors])
        self.assertEqual(code, 0)

    def test_text_has_one_line_a_packet(self):
        path = CAPTURES / "rping.pcap"
        code, out, err = capture.run(ROCECTL, str(path))
        lines = out.splitlines()
        self.assertEqual(code, 0)
        self.assertEqual([int(line.split()[0]) for line in lines], list(range(1, len(lines) + 1)))
        self.assertIn("cm={REQ ", lines[0])
        self.assertIn("hello={ip_version=4 src=10.9.0.2 sport=58194 dst=10.9.0.1 dport=7174}", lines[0])
        self.assertEqual(err, "%d packets, %d RoCE, 0 bad ICRC, 0 malformed\n" % (len(lines), len(lines)))

    def test_every_key_is_documented(self):
        text = (pathlib.Path(VECTORS).parents[2] / "docs" / "decode.md").read_text()
        vectors = json.loads(pathlib.Path(VECTORS).read_text())
        inputs = [pcap([bytes.fromhex(v["frame_hex"]) for v in vectors])]
        inputs += [path.read_bytes() for path in CAPTURES.rglob("*.pcap")]
        keys = {key for data in inputs for record in capture.records(ROCECTL, "-", data=data)[0] for key in record}
        self.assertGreater(len(keys), 40)
        self.assertEqual([key for key in sorted(keys) if "`%s`" % key not in text], [])

    def test_sack(self):
        """docs/wire.md; every key is documented."""
        sacketh = bytes.fromhex("8000000000000001" "c1000123" "07" "02" "0003"
                                 "80000124" "c101" "0000" "40000125" "c202" "0010")
        record, _ = one(ether(roce(bth(0xC0, psn=0xFFFFFF) + bytes.fromhex("1f000009") + sacketh)))
        self.assertEqual(record["opcode_name"], "RC_SACK")
        self.assertEqual(record["sack_map"], "0x8000000000000001")
        self.assertEqual((record["sack_map_psn"], record["sack_echo_psn"]), (65, 0x123))
        self.assertEqual((record["sack_marked"], record["sack_refused"], record["sack_senders"]), (True, True, 7))
        self.assertEqual((record["sack_wait_ns"], record["sack_more"]), (192, 2))
        self.assertEqual(record["sack_echoes"], "292:49409:0:marked 293:49666:1024:refused")
        text = (pathlib.Path(VECTORS).parents[2] / "docs" / "decode.md").read_text()
        self.assertEqual([key for key in record if "`%s`" % key not in text], [])

    def test_merged(self):
        """docs/wire.md; every key is documented."""
        messages = bytes.fromhex("0480000361626300" "0a000004112233445566778899aabbcc0000000477787980")
        record, _ = one(ether(roce(bth(0xC1, psn=7) + bytes.fromhex("02000000") + messages)))
        self.assertEqual((record["opcode_name"], record["merged"]), ("RC_MERGED", 2))
        self.assertEqual(record["messages"], "RC_SEND_ONLY:3 RC_RDMA_WRITE_ONLY:4:0x1122334455667788:0x99aabbcc")
        text = (pathlib.Path(VECTORS).parents[2] / "docs" / "decode.md").read_text()
        self.assertEqual([key for key in record if "`%s`" % key not in text], [])
        record, _ = one(ether(roce(bth(0xC1, psn=7) + bytes.fromhex("03000000") + messages)))
        self.assertEqual(record["messages"], "malformed")

    def test_cm_flow_label_gives_the_udp_port(self):
        """Linux derives the QP's source port from the flow label of the REQ."""
        for name in ("rping.pcap", "v6_rping.pcap", "rxe-6.12/6.12_rping4.pcap"):
            found, _ = capture.records(ROCECTL, CAPTURES / name)
            label = found[0]["cm"]["primary.flow_label"]
            port = 0xC000 | ((label & 0x3FFF) ^ (label >> 14))
            self.assertEqual({r["udp_sport"] for r in found if r["qpn"] != 1}, {port})


class ExitCodes(unittest.TestCase):
    def test_bad_icrc_is_1(self):
        code, out, err = decode(pcap([ether(SEND), ether(break_icrc(SEND)), ether(ACK)]))
        self.assertEqual(code, 1)
        self.assertEqual([line.split("icrc=")[1].split()[0] for line in out.splitlines()], ["ok", "bad", "ok"])
        self.assertEqual(err, "3 packets, 3 RoCE, 1 bad ICRC, 0 malformed\n")

    def test_no_capture_is_2(self):
        with tempfile.TemporaryDirectory() as tmp:
            garbage = pathlib.Path(tmp) / "garbage"
            garbage.write_bytes(random.Random(1).randbytes(4096))
            empty = pathlib.Path(tmp) / "empty"
            empty.touch()
            for path in (garbage, empty, tmp, pathlib.Path(tmp) / "missing", "/dev/null"):
                code, out, err = capture.run(ROCECTL, str(path))
                self.assertEqual((code, out), (2, ""), path)
                self.assertIn(str(path), err)
                self.assertEqual(err.count("\n"), 1, err)

    def test_usage_is_2_and_help_is_0(self):
        for args in ([], ["a", "b"], ["--wrong", "a"]):
            self.assertEqual(capture.run(ROCECTL, *args)[0], 2)
        code, out, err = capture.run(ROCECTL, "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("usage: rocectl decode", out)
        bare = subprocess.run([ROCECTL, "nonsense"], stderr=subprocess.PIPE, timeout=10, check=False)
        self.assertEqual(bare.returncode, 2)

    def test_file_that_ends_early_is_2_and_shows_what_there_is(self):
        whole = pcap([ether(SEND), ether(ACK)])
        for cut in range(25, len(whole)):
            code, out, err = decode(whole[:cut])
            packets = (cut >= 24 + 16 + 14 + len(SEND)) + (cut == len(whole))
            self.assertEqual(out.count("\n"), packets)
            if cut != 24 + 16 + 14 + len(SEND):
                self.assertEqual(code, 2, cut)
                self.assertIn("damaged after packet %d" % packets, err)

    def test_other_link_type_is_2(self):
        code, out, err = decode(pcap([b"\xff\x03\0\x21" + SEND], link=capture.PPP))
        self.assertEqual((code, out), (2, ""))
        self.assertIn("link type PPP", err)

    def test_unwritable_output_is_2(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([ROCECTL, "decode", str(CAPTURES / "rping.pcap")], stdout=full,
                                  stderr=subprocess.PIPE, timeout=10, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"No space left", done.stderr)

    def test_reader_that_leaves_is_no_error(self):
        command = 'set -o pipefail; "$1" decode "$2" | head -n 1'
        done = subprocess.run(["bash", "-c", command, "bash", ROCECTL, str(CAPTURES / "lossy_write.pcap")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout.count(b"\n"), 1)


class Containers(unittest.TestCase):
    def test_pcapng_nanoseconds_stdin(self):
        frames = [ether(SEND), ether(ACK)]
        plain, _ = capture.records(ROCECTL, "-", data=pcap(frames, step=1))
        nano, _ = capture.records(ROCECTL, "-", data=pcap(frames, nano=True, step=1))
        ng, code = capture.records(ROCECTL, "-", data=pcapng(frames))
        self.assertEqual([r["rel_time"] for r in plain], ["0.000000000", "0.000001000"])
        self.assertEqual([r["rel_time"] for r in nano], ["0.000000000", "0.000000001"])
        self.assertEqual(nano[1]["time"], "1700000000.000000001")
        self.assertEqual(([r["icrc"] for r in ng], code), (["ok", "ok"], 0))

    def test_time_that_runs_backwards(self):
        found, _ = capture.records(ROCECTL, "-", data=pcap([ether(SEND)] * 2, start=(9, 500000), step=-1))
        self.assertEqual(found[1]["rel_time"], "-0.000001000")

    def test_raw_ip_and_cooked(self):
        six = roce(bth(0x04), src="fd00::1", dst="fd00::2")
        cooked = bytes(14) + b"\x08\0" + SEND
        cooked2 = b"\x08\0" + bytes(18) + SEND
        tagged = bytes(14) + b"\x81\0\0\x07\x08\0" + SEND
        for link, frame, vlan in ((capture.RAW, SEND, None), (capture.RAW, six, None), (capture.SLL, cooked, None),
                                  (capture.SLL, tagged, 7), (capture.SLL2, cooked2, None)):
            record, code = one(frame, link=link)
            self.assertEqual((record["icrc"], record["opcode_name"], code), ("ok", "RC_SEND_ONLY", 0))
            self.assertEqual(record.get("vlan"), vlan)
            self.assertNotIn("smac", record)

    def test_cut_cooked_header(self):
        for n in range(20):
            record, code = one(b"\x08\0" + bytes(18) + SEND, link=capture.SLL2, snaplen=n)
            self.assertEqual((record["kind"], record["truncated"], code), ("other", True, 0))


class Snaplen(unittest.TestCase):
    def test_every_length(self):
        """A packet cut by the capture says so, is neither malformed nor of bad ICRC, and what is
        shown of it is what the whole packet says."""
        frames = {
            "v4": ether(roce(bth(0x0A) + bytes(range(16)) + b"x" * 12)),
            "v6": ether(roce(bth(0x11) + b"\x1f\0\0\1", src="fd00::1", dst="fd00::2")),
            "vlan": ether(roce(bth(0x13) + bytes(range(28))), vlan=0x6005),
            "cm": read_frames(CAPTURES / "rping.pcap")[0],
        }
        for name, frame in frames.items():
            whole, _ = one(frame)
            for n in range(len(frame)):
                cut, code = one(frame, snaplen=n)
                self.assertEqual((cut["truncated"], cut["captured_bytes"], code), (True, n, 0), (name, n))
                self.assertEqual(cut["frame_bytes"], len(frame))
                self.assertNotIn("malformed", cut, (name, n))
                self.assertIn(cut.get("icrc"), (None, "not_captured"))
                self.assertIn(cut["kind"], (whole["kind"], "other"))
                for key in set(cut) - {"truncated", "captured_bytes", "icrc", "kind", "ethertype", "proto"}:
                    self.assertEqual(cut[key], whole[key], (name, n, key))

    def test_summary_counts_them(self):
        _, _, err = decode(pcap([ether(SEND), ether(ACK)], snaplen=60))
        self.assertEqual(err, "2 packets, 2 RoCE, 0 bad ICRC, 0 malformed, 2 truncated by the capture\n")

    def test_only_padding_cut(self):
        record, _ = one(ether(ACK) + bytes(20), snaplen=14 + len(ACK))
        self.assertEqual((record["icrc"], record["truncated"]), ("ok", True))


class Packets(unittest.TestCase):
    def test_cnp(self):
        record, code = one(ether(roce(bth(0x81, byte4=0x40, psn=0) + bytes(16), tos=0xC2)))
        self.assertEqual((record["opcode_name"], record["becn"], record["fecn"], record["tos"], record["icrc"], code),
                         ("CNP", True, False, 0xC2, "ok", 0))

    def test_every_flag(self):
        record, _ = one(ether(roce(bth(0x04, flags=0xC0, ack_req=True, byte4=0xC0, pkey=0x7FFF), tos=3), vlan=0xE123))
        for key in ("solicited", "migreq", "ack_req", "fecn", "becn"):
            self.assertIs(record[key], True)
        self.assertEqual((record["pkey"], record["vlan"], record["pcp"]), (0x7FFF, 0x123, 7))

    def test_aeth(self):
        for syndrome, want in ((0x1F, ("ack", "credits", 31)), (0x2E, ("rnr_nak", "rnr_timer", 14)),
                               (0x60, ("nak", "nak", "psn_sequence_error")),
                               (0x61, ("nak", "nak", "invalid_request")),
                               (0x62, ("nak", "nak", "remote_access_error")),
                               (0x63, ("nak", "nak", "remote_operational_error")),
                               (0x7F, ("nak", "nak", "reserved"))):
            record, _ = one(ether(roce(bth(0x11) + bytes([syndrome, 0, 1, 2]))))
            self.assertEqual((record["aeth"], record[want[1]], record["syndrome"], record["msn"]),
                             (want[0], want[2], syndrome, 0x102))

    def test_wide_numbers_are_strings(self):
        record, _ = one(ether(roce(bth(0x13) + struct.pack("!QIQQ", 2**64 - 1, 2**32 - 1, 2**53 + 1, 3))))
        self.assertEqual((record["va"], record["rkey"], record["swap_add"], record["compare"]),
                         ("0xffffffffffffffff", 2**32 - 1, "0x0020000000000001", "0x0000000000000003"))

    def test_malformed(self):
        short = roce(bth(0x0C) + bytes(12))
        for frame, reason in ((roce(bth(0x15)), "opcode"), (roce(bth(0x04, flags=1)), "tver"), (short, "bth_length"),
                              (SEND[:-1], "truncated"), (SEND[:10] + b"\0\0" + SEND[12:], "ip_header"),
                              (roce(bth(0x64, qpn=1) + bytes(8) + bytes(255)), "malformed_mad")):
            record, code = one(ether(frame))
            self.assertEqual((record["malformed"], code), (reason, 0))

    def test_fragments_and_options_are_not_malformed(self):
        record, code = one(ether(ip("10.0.0.1", "10.0.0.2", bytes(64), frag=0x2000)))
        self.assertEqual((record["kind"], record["fragment"], code), ("other", True, 0))
        self.assertNotIn("malformed", record)
        options = b"\x46" + SEND[1:20] + b"\1\1\1\1" + SEND[20:]
        record, code = one(ether(options))
        self.assertEqual((record["kind"], record["ip_options"], code), ("other", True, 0))
        self.assertNotIn("malformed", record)

    def test_pause_and_pfc(self):
        quanta = struct.pack("!HH8H", 0x0101, 0x0048, *range(100, 108)) + bytes(26)
        record, _ = one(ether(quanta, kind=0x8808, dmac="0180c2000001"))
        self.assertEqual((record["kind"], record["control"], record["class_enable"], record["quanta"]),
                         ("pfc", "priority_flow_control", 0x48, {"3": 103, "6": 106}))
        record, _ = one(ether(struct.pack("!HH", 1, 0xFFFF) + bytes(42), kind=0x8808, dmac="0180c2000001"))
        self.assertEqual((record["control"], record["pause_quanta"]), ("pause", 0xFFFF))
        record, code = one(ether(quanta[:19], kind=0x8808))
        self.assertEqual((record["malformed"], code), ("truncated", 0))

    def test_arp_nd_icmp_other(self):
        arp = bytes.fromhex("0001080006040001" "020000000001" "0a000001" "000000000000" "0a000002")
        record, _ = one(ether(arp, kind=0x0806))
        self.assertEqual((record["kind"], record["message"], record["src"], record["dst"], record["lladdr"]),
                         ("arp", "arp_request", "10.0.0.1", "10.0.0.2", "02:00:00:00:00:01"))
        record, _ = one(ether(ip("10.0.0.1", "10.0.0.2", b"\x08\0\xf7\xff\0\0\0\0", proto=1)))
        self.assertEqual((record["kind"], record["message"]), ("icmp", "echo_request"))
        target = ipaddress.ip_address("fd00::2").packed
        body = b"\x87\0\0\0\0\0\0\0" + target + b"\1\1\2\0\0\0\0\1"
        pseudo = ipaddress.ip_address("fd00::1").packed + target + struct.pack("!II", len(body), 58)
        body = body[:2] + struct.pack("!H", capture.ones_sum(pseudo + body) ^ 0xFFFF) + body[4:]
        record, _ = one(ether(ip("fd00::1", "fd00::2", body, proto=58, ttl=255)))
        self.assertEqual((record["kind"], record["message"], record["target"], record["lladdr"]),
                         ("icmpv6", "neighbour_solicitation", "fd00::2", "02:00:00:00:00:01"))
        record, _ = one(ether(ip("10.0.0.1", "10.0.0.2", bytes(20), proto=6)))
        self.assertEqual((record["kind"], record["proto"], record["src"]), ("other", 6, "10.0.0.1"))
        record, _ = one(ether(bytes(46), kind=0x88CC))
        self.assertEqual((record["kind"], record["ethertype"]), ("other", 0x88CC))


class Hostile(unittest.TestCase):
    def test_mutated_captures(self):
        """Any bytes give one JSON object a packet, or a clear refusal: never a crash, never bad JSON."""
        rnd = random.Random(20)
        sources = [(CAPTURES / n).read_bytes() for n in ("rping.pcap", "atomic_fa.pcap", "v6_rping.pcap")]
        for _ in range(300):
            data = bytearray(rnd.choice(sources))
            for _ in range(rnd.choice((1, 10, 200))):
                data[rnd.randrange(len(data))] = rnd.randrange(256)
            code, out, err = decode(bytes(data[:rnd.choice((len(data), rnd.randrange(len(data))))]), "--json")
            self.assertIn(code, (0, 1, 2), err)
            for line in out.splitlines():
                json.loads(line)
            self.assertTrue(code != 2 or "rocectl: -: " in err, err)


def main():
    global ROCECTL, CAPTURES, VECTORS
    ROCECTL, CAPTURES, VECTORS = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])


if __name__ == "__main__":
    main()
