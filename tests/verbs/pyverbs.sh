#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# rdma-core's own tests of the verbs and of librdmacm, by pyverbs, as python3-pyverbs ships them. Both ends of
# each are one process on one daemon.
#
# usage: tests/verbs/pyverbs.sh      (root; ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/common.sh"
. "$(dirname "$0")/../lib/programs.sh"

need ss gunzip
shipped=/usr/share/doc/rdma-core/tests
/usr/bin/python3 -c 'import pyverbs' 2>/dev/null || skip_all "python3-pyverbs is not installed, see tools/deps"
[ -e $shipped/test_qp.py.gz ] || [ -e $shipped/test_qp.py ] || skip_all "python3-pyverbs came without its tests"
two_daemons
kernel_address A $A4/24 || skip_all "cannot give the kernel the device's address"

# They look for a device's interface in sysfs, where a device without a kernel driver is not.
cp -r $shipped "$tmp_dir/tests"
gunzip -q "$tmp_dir"/tests/*.gz
mkdir -p "$tmp_dir/class/infiniband/roced0/device/net/roced0"
sed -i "s|'/sys/class/infiniband|'$tmp_dir/class/infiniband|" "$tmp_dir/tests/base.py"

log=$tmp_dir/pyverbs.log
run_in A timeout -k 2 120 "$(dirname "$(realpath "$0")")/pyverbs_run.py" "$tmp_dir" roced0 $V4 >"$log" 2>"$log.err"
rc=$?
cat "$log"
passed=$(grep -c '^PASS ' "$log") failed=$(grep -c '^FAIL ' "$log") skipped=$(grep -c '^SKIP ' "$log")
[ $rc -le 1 ] || fail "pyverbs comes to its end (status $rc; 124 is a timeout)" "$log" "$log.err"
[ "$passed" -ge 110 ] || fail "most tests apply ($passed passed)" "$log.err"
alive_check

roced_stop A
roced_stop B
finish
