#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What "meson install" puts where: programs that run from there, the unit as systemd reads it, manual pages that say all that the
# programs say, examples that are right, completion.
#
# usage: tests/package/install.sh      (ROCED_BUILD names the build directory, KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2317,SC2086
. "$(dirname "$0")/../lib/common.sh"

dest=$tmp_dir/dest
build_dir=$(readlink -f "$build_dir")
introspect() { meson introspect "$build_dir" --buildoptions | python3 -c "
import json, sys
print(next(o['value'] for o in json.load(sys.stdin) if o['name'] == '$1'))"; }
prefix=$(introspect prefix)
root=$dest$prefix
lib_dir=$root/$(introspect libdir)/roced
etc_dir=$(introspect sysconfdir)
[[ $etc_dir = /* ]] && etc_dir=$dest$etc_dir || etc_dir=$root/$etc_dir
unit_dir=$(introspect systemd_unit_dir)
unit=${unit_dir:+$dest}${unit_dir:-$root/lib/systemd/system}/roced.service
doc_dir=$root/share/doc/roced
programs="roced rocectl roce-sim roce-gen roce-fabric roced-run"

DESTDIR=$dest meson install -C "$build_dir" --no-rebuild --quiet >"$tmp_dir/install.log" 2>&1 ||
	{ fail "meson install" "$tmp_dir/install.log"; finish; }
pass "meson install"

# ------------------------------------------------------------------ files

all_there() {
	local file missing=0
	for file in "$root"/bin/{roced,rocectl,roce-sim,roce-gen,roce-fabric,roced-run} "$lib_dir"/lib{ibverbs,rdmacm}.so.1 \
		"$lib_dir"/libroced_{alloc,preload}.so "$root/include/roced_alloc.h" "$etc_dir/roced/roced.cfg" "$unit" \
		"$root"/lib/{sysusers,tmpfiles}.d/roced.conf "$root"/share/man/man{8/roced.8,5/roced.cfg.5} \
		"$root"/share/man/man1/{rocectl,roce-sim,roce-gen,roce-fabric,roced-run}.1 \
		"$root"/share/bash-completion/completions/{roced,rocectl} "$doc_dir/configuration.md" \
		"$doc_dir"/examples/{default.conf,Dockerfile,af_xdp-service.conf,gen/two-ports.conf,sim/incast.conf}; do
		[ -e "$file" ] || { echo "missing: $file"; missing=1; }
	done
	return $missing
}

# Nothing outside the prefix and /etc, and nothing that names the build tree.
nothing_else() {
	! find "$dest" -type f ! -path "$root/*" ! -path "$etc_dir/*" ! -path "$unit" | grep . &&
		! grep -rIl "$build_dir" "$root" "$etc_dir" | grep .
}

runs() { # each program, from where it lies and without the build tree's libraries
	local p
	"$root/bin/roced" --version | grep -x "roced [0-9.]*" || return 1
	for p in $programs; do "$root/bin/$p" --help >/dev/null || { echo "$p --help"; return 1; }; done
	! readelf -d "$root"/bin/roce* "$lib_dir"/*.so* 2>/dev/null | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN\]'
}

# roced-run finds the libraries that lie beside it, not the system's.
finds_libraries() {
	python3 - "$tmp_dir/some.sock" <<-'END'
		import socket, sys
		socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(sys.argv[1])
	END
	"$root/bin/roced-run" --socket "$tmp_dir/some.sock" sh -c "echo \$LD_LIBRARY_PATH" | tee /dev/stderr | grep -qx "$lib_dir"
}

configurations() {
	local f
	(cd "$tmp_dir" && "$root/bin/roced" -c "$etc_dir/roced/roced.cfg" --check) || return 1
	for f in "$doc_dir"/examples/*.conf; do
		[ "${f##*/}" = af_xdp-service.conf ] || (cd "$doc_dir" && "$root/bin/roced" -c "$f" --check) || return 1
	done
	for f in "$doc_dir"/examples/gen/*.conf; do "$root/bin/roce-gen" --check "$f" || return 1; done
	for f in "$doc_dir"/examples/fabric/*.conf; do "$root/bin/roce-fabric" "$f" --check || return 1; done
}

check "all files are there" all_there
check "nothing else is, and nothing names the build tree" nothing_else
check "programs run from there" runs
check "roced-run finds the libraries beside it" finds_libraries
check "configuration and examples are right" configurations

# ------------------------------------------------------------------ systemd

# As on a system where the package is installed: the unit names programs by their places.
systemd_root=$tmp_dir/systemd
unit_is_right() {
	mkdir -p "$systemd_root/etc/systemd/system/roced.service.d" "$systemd_root$prefix" "$systemd_root/bin" "$systemd_root/usr/lib"
	cp -a "$root/bin" "$systemd_root$prefix/"
	cp /bin/kill "$systemd_root/bin/"
	cp -a /usr/lib/systemd "$systemd_root/usr/lib/"
	ln -s usr/lib "$systemd_root/lib"
	cp "$unit" "$systemd_root/etc/systemd/system/"
	"$@"
	systemd-analyze verify --man=no --root="$systemd_root" "$systemd_root/etc/systemd/system/roced.service" 2>&1 |
		tee /dev/stderr | grep roced && return 1
	return 0
}
drop_in_is_right() {
	cp "$doc_dir/examples/af_xdp-service.conf" "$systemd_root/etc/systemd/system/roced.service.d/"
	local rc=0
	systemd-analyze verify --man=no --root="$systemd_root" "$systemd_root/etc/systemd/system/roced.service" 2>&1 | grep roced && rc=1
	rm "$systemd_root/etc/systemd/system/roced.service.d/af_xdp-service.conf"
	return $rc
}
# The score that systemd gives: 0.0 to 10.0, tenths as a whole number; a unit without any hardening has 96.
exposure() {
	systemd-analyze security --offline=yes --no-pager --threshold=32 "$unit" >"$tmp_dir/security.log" 2>&1
	local rc=$?
	tail -n 1 "$tmp_dir/security.log"
	[ $rc -eq 0 ] && grep -q 'Overall exposure level' "$tmp_dir/security.log"
}
user_and_directory() {
	local at=$tmp_dir/system
	mkdir -p "$at/etc"
	systemd-sysusers --root="$at" "$root/lib/sysusers.d/roced.conf" && grep '^roced:.*:/run/roced:' "$at/etc/passwd" &&
		grep '^roced:' "$at/etc/group" && systemd-tmpfiles --root="$at" --create "$root/lib/tmpfiles.d/roced.conf" &&
		[ "$(stat -c '%a %u' "$at/run/roced")" = "755 $(awk -F: '$1 == "roced" { print $3 }' "$at/etc/passwd")" ]
}
if command -v systemd-analyze >/dev/null; then
	check "systemd finds nothing wrong in the unit" unit_is_right
	check "nor with the rights for AF_XDP" drop_in_is_right
	check "systemd's score of its hardening" exposure
	check "its user and directory are made" user_and_directory
else
	skip "the unit" "systemd is not installed"
fi

# ------------------------------------------------------------------ manual pages

page_of() { ls "$root/share/man/"man?/"$1".[158]; }
shown() { MANWIDTH=200 man --nh --nj -l "$1" | col -bx; }
lint() { # both programs that show pages find nothing to warn of
	local page rc=0
	for page in "$root"/share/man/man?/*; do
		mandoc -Tlint -Wwarning "$page" || rc=1
		[ -z "$(man --warnings -l "$page" 2>&1 >/dev/null | tee /dev/stderr)" ] || rc=1
	done
	return $rc
}
options_in() { grep -oE '(^|[^[:alnum:]-])--?[a-zA-Z][a-zA-Z-]*' | sed 's/^[^-]*//' | sort -u; }
# says_all PROGRAM...: every option that --help tells is in the page
says_all() {
	local p option rc=0
	for p in "$@"; do
		shown "$(page_of "$p")" >"$tmp_dir/page"
		for option in $("$root/bin/$p" --help | options_in); do
			grep -qE -- "(^|[^[:alnum:]-])$option([^[:alnum:]-]|$)" "$tmp_dir/page" || { echo "$p(1) does not have $option"; rc=1; }
		done
	done
	return $rc
}
# nouns, with verbs if they have some
commands() { "$root/bin/rocectl" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z][a-z-]*( [a-z][a-z-]*)?)(| .*)$/\1/p'; }
says_commands() {
	local c rc=0
	shown "$(page_of rocectl)" >"$tmp_dir/page"
	commands >"$tmp_dir/commands"
	[ "$(wc -l <"$tmp_dir/commands")" -ge 7 ] || return 1
	while read -r c; do
		grep -qx "   $c" "$tmp_dir/page" || { echo "rocectl(1) does not have $c"; rc=1; }
		# shellcheck disable=SC2086
		"$root/bin/rocectl" $c --help </dev/null | options_in | while read -r o; do
			sed -n "/^   $c\$/,/^   [a-z]/p" "$tmp_dir/page" | grep -qwF -- "$o" || echo "rocectl(1), $c: does not have $o"
		done | tee /dev/stderr | grep -q . && rc=1
	done <"$tmp_dir/commands"
	return $rc
}
says_keys() { # PAGE PROGRAM OPTION: each key is the head of an entry
	shown "$(page_of "$1")" | sed 's/  .*//' | sort -u >"$tmp_dir/page"
	"$root/bin/$2" "$3" --markdown | sed -n 's/^| `\([^`]*\)`.*/     \1/p' | sort -u >"$tmp_dir/keys"
	[ "$(wc -l <"$tmp_dir/keys")" -gt 40 ] || return 1
	sed -i 's/^     //' "$tmp_dir/keys"
	shown "$(page_of "$1")" | awk '/^     [^ ]/ { print $1 }' | sort -u >"$tmp_dir/page"
	! comm -23 "$tmp_dir/keys" "$tmp_dir/page" | grep .
}
if command -v mandoc >/dev/null && command -v man >/dev/null; then
	check "manual pages: nothing to warn of" lint
	check "manual pages: all options" says_all $programs
	check "manual pages: all commands of rocectl, with their options" says_commands
	check "manual pages: all keys of roced.cfg" says_keys roced.cfg roced --print-config-help
	for p in roce-sim roce-gen roce-fabric; do check "manual pages: all keys of $p" says_keys $p $p --print-help; done
else
	skip "manual pages" "mandoc or man is not installed, see tools/deps"
fi

# ------------------------------------------------------------------ completion

# completed WORD...: what bash offers for the last word
completed() {
	bash --norc -c '
		. "$0"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_'"${completes:-rocectl}"' "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
		printf "%s\n" "${COMPREPLY[@]}"' "$root/share/bash-completion/completions/${completes:-rocectl}" "$@" | sort | paste -sd' '
}
is() { echo "offered: $1"; [ "$1" = "$2" ]; }
ctl=$root/bin/rocectl
offers_commands() { is "$(completed "$ctl" "")" "$({ echo --help; commands | cut -d' ' -f1; } | sort -u | paste -sd' ')"; }
offers_one() { is "$(completed "$ctl" al)" alarms && is "$(completed "$ctl" nothing)" ""; }
offers_options() {
	is "$(completed "$ctl" paths --)" "--help --json --socket --watch" && is "$(completed "$ctl" paths --w)" "--watch" &&
		is "$(completed "$ctl" decode -)" "--help --json -h -j"
}
offers_files() {
	cd "$tmp_dir" && touch a-capture.pcap a-capture.txt || return 1
	is "$(completed "$ctl" decode a-cap)" "a-capture.pcap a-capture.txt" && is "$(completed "$ctl" paths --socket a-capture.p)" "a-capture.pcap" &&
		is "$(completed "$ctl" alarms a-cap)" ""
}
# As the program may have one day: a noun with verbs.
offers_verbs() {
	cat >"$tmp_dir/verbs" <<-'END'
		#!/bin/sh
		case "$*" in
		--help) printf 'usage: ...\n\nCommands:\n  path down [--hard] NAME  cut\n  path up NAME             mend\n  read FILE...             more\n\n' ;;
		"path down --help") printf 'usage: verbs path down [--hard] NAME\n\n  --hard  at once\n' ;;
		"read --help") printf 'usage: verbs read FILE...\n' ;;
		esac
	END
	chmod 755 "$tmp_dir/verbs"
	is "$(completed "$tmp_dir/verbs" "")" "--help path read" && is "$(completed "$tmp_dir/verbs" path "")" "down up" &&
		is "$(completed "$tmp_dir/verbs" path down --)" "--hard" && is "$(completed "$tmp_dir/verbs" path up x)" "" &&
		is "$(cd "$tmp_dir" && completed "$tmp_dir/verbs" read verb)" "verbs"
}
offers_of_roced() {
	local completes=roced
	cd "$tmp_dir" && touch only.cfg || return 1
	is "$(completed "$root/bin/roced" --c)" "--check --config" && is "$(completed "$root/bin/roced" -c only)" "only.cfg" &&
		is "$(completed "$root/bin/roced" --print-c)" "--print-config-help"
}
check "completion: commands" offers_commands
check "completion: of what is begun" offers_one
check "completion: options of a command" offers_options
check "completion: files where files are wanted" offers_files
check "completion: verbs of a noun" offers_verbs
check "completion: roced" offers_of_roced
finish
