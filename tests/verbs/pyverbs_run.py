#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs rdma-core's own tests of pyverbs on a device and prints a line per test: PASS, FAIL or SKIP with its reason.

usage: pyverbs_run.py DIRECTORY DEVICE GID_INDEX

DIRECTORY holds the package `tests`. Those for one vendor's hardware are left out, with one line for all of a kind.
The interpreter is Debian's: pyverbs is built for it.
"""
import importlib
import os
import sys
import time
import traceback
import unittest

VENDORS = {"mlx5": "NVIDIA's devices", "efa": "Amazon's devices", "cuda": "CUDA memory"}


def vendor_of(module):
    """The part of VENDORS in a module's name, or None: test_efadv and test_efa_srd are both efa."""
    return next((v for v in VENDORS if v in module), None)


class Lines(unittest.TestResult):
    """Prints verdicts as they come; a test with failing parts fails once."""

    def __init__(self):
        super().__init__()
        self.verdict = None

    def startTest(self, test):
        super().startTest(test)
        self.verdict = ("PASS", "")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.verdict = ("SKIP", f" ({reason})")

    def _failed(self, err):
        self.verdict = ("FAIL", "\n" + "".join("    " + line for line in
                        "".join(traceback.format_exception(*err)[-3:]).splitlines(True)).rstrip())

    def addError(self, test, err):
        super().addError(test, err)
        if self.verdict is None:  # of a whole class or module
            self._failed(err)
            self.stopTest(test)
        else:
            self._failed(err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(err)

    def stopTest(self, test):
        result, why = self.verdict
        self.verdict = None
        print(f"{result} pyverbs: {test.id().removeprefix('tests.')}{why}", flush=True)
        super().stopTest(test)


def main():
    directory, device, gid = sys.argv[1:]
    sys.path[:0] = [directory, os.path.join(directory, "tests")]
    sys.argv[1:] = ["--dev", device, "--port", "1", "--gid", gid]
    from args_parser import parser
    parser.parse_args()
    names = sorted(f[:-3] for f in os.listdir(os.path.join(directory, "tests"))
                   if f.startswith("test_") and f.endswith(".py"))
    suite = unittest.TestSuite()
    for name in names:
        if vendor_of(name) is None:
            suite.addTest(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module("tests." + name)))
    for vendor, what in VENDORS.items():
        count = sum(vendor_of(name) == vendor for name in names)
        print(f"SKIP pyverbs: {count} modules of tests with {vendor} in their names (for {what} only)")
    started = time.monotonic()
    result = Lines()
    suite.run(result)
    print(f"pyverbs: {result.testsRun} tests in {time.monotonic() - started:.1f} s")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
