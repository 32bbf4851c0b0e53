# SPDX-License-Identifier: BSD-3-Clause
"""Compares the names and versions that a drop-in library exports with those of the system's library.

usage: check_symbols.py OURS SYSTEM
Prints a table of what is missing; it has to be empty. Where the system's library is of an rdma-core newer
than ours knows, what only that one can have is no failure: if nothing else is missing, the test is skipped.
"""
import os
import re
import subprocess
import sys

SKIP = 77
# Numbers of the private interface, IBVERBS_PRIVATE_*, whose names are all there.
KNOWN_PRIVATE = {'34', '65'}


def exported(path):
    lines = subprocess.run(['nm', '-D', '--defined-only', path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    # "address type name@version"; version nodes themselves are of type A.
    fields = (line.split() for line in lines)
    return {f[2].replace('@@', '@default ') for f in fields if len(f) == 3 and f[1] != 'A'}


def is_newer(name, have):
    """Whether a name@version belongs to a version of the interface that ours as a whole does not know."""
    version = re.split('@(?:default )?', name)[1]
    private = re.search(r'_PRIVATE_(\d+)$', version)
    if private:
        return private[1] not in KNOWN_PRIVATE
    return not any(n.endswith((f'@{version}', f' {version}')) for n in have)


def main():
    ours, system = sys.argv[1:3]
    if not os.path.exists(system):
        print(f'SKIP: no {system} to compare with')
        return SKIP
    wanted = exported(system)
    have = exported(ours)
    missing = sorted(wanted - have)
    newer = {name for name in missing if is_newer(name, have)}
    for name in missing:
        print('of a newer rdma-core:' if name in newer else 'missing:', name)
    print(f'{len(wanted) - len(missing)} of {len(wanted)} exported')
    if len(newer) < len(missing) or not wanted:
        return 1
    if newer:
        print(f'SKIP: {system} is newer than what these libraries know')
        return SKIP
    return 0


if __name__ == '__main__':
    sys.exit(main())
