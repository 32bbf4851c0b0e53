# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Huge pages of 2 MB for a test, after common.sh. They are the machine's: as many as there were are given back at the
# end, whatever happened.

pages_file=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
pages_before=

pages_restore() {
	mountpoint -q "$tmp_dir/huge" && umount "$tmp_dir/huge"
	[ -n "$pages_before" ] && echo "$pages_before" >"$pages_file"
	pages_before=
}
trap 'pages_cleanup' EXIT
pages_cleanup() {
	local p
	for p in "${pids[@]+"${pids[@]}"}"; do end_pid "$p"; done
	pages_restore
	cleanup
}

pages_take() { # PAGES
	pages_before=$(cat "$pages_file") || return 1
	echo $((pages_before + $1)) >"$pages_file"
	[ "$(cat "$pages_file")" -ge $((pages_before + $1)) ]
}
pages_mount() {
	mkdir -p "$tmp_dir/huge" && mount -t hugetlbfs -o pagesize=2M none "$tmp_dir/huge"
}
