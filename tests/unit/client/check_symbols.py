# SPDX-License-Identifier: BSD-3-Clause
"""Compares the names and versions that a drop-in library exports with those of the system's library.

usage: check_symbols.py OURS SYSTEM
Prints a table of what is missing; it has to be empty.
"""
import os
import subprocess
import sys

SKIP = 77


def exported(path):
    lines = subprocess.run(['nm', '-D', '--defined-only', path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    # "address type name@version"; version nodes themselves are of type A.
    fields = (line.split() for line in lines)
    return {f[2].replace('@@', '@default ') for f in fields if len(f) == 3 and f[1] != 'A'}


def main():
    ours, system = sys.argv[1:3]
    if not os.path.exists(system):
        print(f'SKIP: no {system} to compare with')
        return SKIP
    wanted = exported(system)
    have = exported(ours)
    missing = sorted(wanted - have)
    for name in missing:
        print('missing:', name)
    print(f'{len(wanted) - len(missing)} of {len(wanted)} exported')
    return 1 if missing or not wanted else 0


if __name__ == '__main__':
    sys.exit(main())
