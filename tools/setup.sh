#!/bin/bash
# Installs the packages that are missing for `make demo`, `make check`, `make test` or `make bench`, says which and why first,
# and does nothing where all are there. Usage: tools/setup.sh demo|check|test|bench
set -euo pipefail

wanted=${1:-demo}
packages=() reasons=()

# lacks PACKAGE REASON CHECK...: notes the package unless CHECK succeeds.
lacks() {
	local package=$1 reason=$2
	shift 2
	if ! "$@" >/dev/null 2>&1; then
		packages+=("$package")
		reasons+=("$reason")
	fi
}

has() { command -v "$1"; }
has_libc() { [ -e /usr/include/stdio.h ]; }
has_library() { pkg-config --exists "$1"; }
has_venv() { "$(system_python)" -c 'import ensurepip, venv'; }
system_python() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi; }

has_postgres() { command -v psql && ls /usr/lib/postgresql/*/bin/initdb; }

fuzzer_links() {
	local folder status=0
	folder=$(mktemp -d)
	echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n > 9 ? 0 : 0; }' >"$folder/f.c"
	clang -fsanitize=fuzzer,address,undefined -o "$folder/f" "$folder/f.c" || status=1
	rm -rf "$folder"
	return $status
}

# The sanitizer runtimes' package carries the compiler's version, and on older releases another name.
runtime_package() {
	local major
	major=$(clang -dumpversion | cut -d. -f1)
	if apt-cache show "libclang-rt-$major-dev" >/dev/null 2>&1; then
		echo "libclang-rt-$major-dev"
	else
		echo "libclang-common-$major-dev"
	fi
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Another install may hold the lock: wait for it, for at most ten minutes.
apt() {
	local log tries=0
	log=$(mktemp)
	until as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" >"$log" 2>&1; do
		tries=$((tries + 1))
		if grep -qE 'Could not get lock|Unable to (lock|acquire)|is another process using it' "$log"; then
			[ $tries -eq 1 ] && echo "setup: another package installation is running; waiting for it"
			[ $tries -lt 120 ] || { tail -n 5 "$log" >&2; rm -f "$log"; return 1; }
		elif [ $tries -ge 3 ]; then
			tail -n 20 "$log" >&2
			rm -f "$log"
			return 1
		fi
		sleep 5
	done
	rm -f "$log"
}

# Some packages start a server when they are installed, on every address. Debian asks this file first.
services_off() {
	[ ! -e /usr/sbin/policy-rc.d ] || return 0
	printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
	as_root chmod 755 /usr/sbin/policy-rc.d
	trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
}

install_noted() {
	[ ${#packages[@]} -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		echo "setup: missing here: ${packages[*]} (Debian's names); install them by this system's own means" >&2
		exit 1
	fi
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		echo "setup: missing here, and there is no sudo. As root: apt-get install ${packages[*]}" >&2
		exit 1
	fi
	echo "setup: installing with apt-get$([ "$(id -u)" -eq 0 ] || echo ' (through sudo)'):"
	local i
	for i in "${!packages[@]}"; do
		printf '  %-20s %s\n' "${packages[$i]}" "${reasons[$i]}"
	done
	apt update || echo "setup: apt-get update failed; going on with the lists that are there" >&2
	services_off
	apt install --no-install-recommends "${packages[@]}"
	packages=() reasons=()
}

# npm_into FOLDER PACKAGE...: a fresh folder with these; a registry that fails is asked three times.
npm_into() {
	local folder=$1 tries=0
	shift
	rm -rf "$folder"
	mkdir -p "$folder"
	until npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "$@" >/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 3 ] || return 1
		sleep 5
	done
}

# What the tests run in cells as it comes from npm, once, into build-npm.
npm_packages=(@anthropic-ai/claude-code@2.1.197 undici@6.21.3 @microsoft/sarif-multitool-linux@5.7.0)
fetch_npm() {
	local folder
	folder=$(dirname "$0")/../build-npm
	[ "$(cat "$folder/installed" 2>/dev/null)" != "${npm_packages[*]}" ] || return 0
	echo "setup: installing with npm into build-npm, 350 MB:"
	printf '  %-36s %s\n' "${npm_packages[0]}" "an agent that works through a secret door" \
		"${npm_packages[1]}" "what tells Node's fetch of a proxy" \
		"${npm_packages[2]}" "the schema of SARIF, and another's judgement of it"
	npm_into "$folder" "${npm_packages[@]}" || return 1
	echo "${npm_packages[*]}" >"$folder/installed"
}

# What the schema tests are judged by, once, into build-schema: JSON-Schema-Test-Suite is in the source of PyPI's
# jsonschema, which is also the other validator.
schema_package=jsonschema==4.26.0
fetch_schema_suite() {
	local folder python
	folder=$(dirname "$0")/../build-schema
	python=$(system_python)
	[ "$(cat "$folder/installed" 2>/dev/null)" != "$schema_package" ] || return 0
	echo "setup: fetching $schema_package with pip into build-schema: JSON-Schema-Test-Suite, and a validator to compare with"
	rm -rf "$folder"
	mkdir -p "$folder/source"
	"$python" -m venv "$folder/venv" || return 1
	"$folder/venv/bin/pip" install -q --disable-pip-version-check "$schema_package" || return 1
	"$folder/venv/bin/pip" download -q --disable-pip-version-check --no-deps --no-binary jsonschema -d "$folder/source" "$schema_package" || return 1
	tar -xzf "$folder"/source/*.tar.gz -C "$folder/source" --strip-components=1 || return 1
	mv "$folder/source/json" "$folder/suite" && rm -rf "$folder/source" || return 1
	echo "$schema_package" >"$folder/installed"
}

# MCP servers that others wrote, to be fuzzed as they are, once, into build-servers. The one for SQLite was written for an
# older SDK than the others.
server_npm=(@modelcontextprotocol/server-{filesystem,everything,memory}@2026.8.31)
server_python=(mcp-server-git==2026.10.19 mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24)
server_sqlite=(mcp-server-sqlite==2025.4.25 mcp==1.30.0)
fetch_servers() {
	local folder python all="${server_npm[*]} ${server_python[*]} ${server_sqlite[*]}"
	folder=$(dirname "$0")/../build-servers
	python=$(system_python)
	[ "$(cat "$folder/installed" 2>/dev/null)" != "$all" ] || return 0
	echo "setup: installing with npm and pip into build-servers, 240 MB: MCP servers to be fuzzed:"
	printf '  %s\n' "${server_npm[@]}" "${server_python[@]}" "${server_sqlite[@]}"
	rm -rf "$folder"
	mkdir -p "$folder"
	npm_into "$folder/npm" "${server_npm[@]}" || return 1
	"$python" -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q --disable-pip-version-check "${server_python[@]}" || return 1
	"$python" -m venv "$folder/venv-sqlite" && "$folder/venv-sqlite/bin/pip" install -q --disable-pip-version-check "${server_sqlite[@]}" || return 1
	echo "$all" >"$folder/installed"
}

# Go may be where PATH does not have it.
has_go() { PATH=$PATH:/usr/local/go/bin command -v go; }

# Go's own packages, compiled as they are for fuzzing, once, into build-engines: in each test it would take half a minute.
warm_go() {
	local folder program
	folder=$(realpath "$(dirname "$0")/../build-engines")/go
	local go
	go=$(has_go) || return 1
	[ "$(cat "$folder.installed" 2>/dev/null)" != "$("$go" version)" ] || return 0
	echo "setup: compiling Go's packages for fuzzing into build-engines, 130 MB"
	program=$(mktemp -d)
	printf '%s\n' 'package main' 'import "C"' 'import (_ "context"; _ "flag"; _ "fmt"; _ "reflect"; _ "runtime/debug"; _ "testing")' \
		'//export Nothing' 'func Nothing() {}' 'func main() {}' >"$program/main.go"
	printf 'package main\nimport (_ "encoding/json"; "testing")\nfunc FuzzNothing(f *testing.F) {}\n' >"$program/main_test.go"
	printf 'module nothing\ngo 1.18\n' >"$program/go.mod"
	rm -rf "$folder"
	(
		cd "$program"
		export GOCACHE=$folder GOENV=off GOFLAGS=-buildvcs=false GOPROXY=off GOTOOLCHAIN=local GOWORK=off CC=clang CGO_ENABLED=1
		"$go" build -buildmode=c-archive -tags=libfuzzer -gcflags=all=-d=libfuzzer -o "$program/a.a" . &&
			"$go" test -c -vet=off -cover -o "$program/a.test" . &&
			CGO_ENABLED=0 "$go" test -c -vet=off -fuzz='^FuzzNothing$' -o "$program/a.test" .
	) || return 1
	rm -rf "$program"
	"$go" version >"$folder.installed"
}

# Engines that functions are fuzzed with, once, into build-engines.
engine_python=(atheris==3.0.0 coverage==7.10.7)
fetch_python_engine() {
	local folder
	folder=$(dirname "$0")/../build-engines/python
	[ "$(cat "$folder/installed" 2>/dev/null)" != "${engine_python[*]}" ] || return 0
	echo "setup: installing ${engine_python[*]} with pip into build-engines: what Python functions are fuzzed and measured with"
	rm -rf "$folder"
	mkdir -p "$(dirname "$folder")"
	"$(system_python)" -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check "${engine_python[@]}" || return 1
	echo "${engine_python[*]}" >"$folder/installed"
}

# Node's, beside it.
engine_javascript=@jazzer.js/core@4.0.0
fetch_engine_javascript() {
	local folder
	folder=$(dirname "$0")/../build-engines/javascript
	[ "$(cat "$folder/installed" 2>/dev/null)" != "$engine_javascript" ] || return 0
	echo "setup: installing $engine_javascript with npm into build-engines, 30 MB: what JavaScript functions are fuzzed with"
	npm_into "$folder" "$engine_javascript" || return 1
	echo "$engine_javascript" >"$folder/installed"
}

# Java's, beside it.
engine_java=0.30.0
fetch_engine_java() {
	local folder name
	folder=$(realpath "$(dirname "$0")/..")/build-engines/java
	[ "$(cat "$folder/installed" 2>/dev/null)" != "$engine_java" ] || return 0
	echo "setup: installing com.code-intelligence:jazzer:$engine_java with mvn into build-engines, 9 MB: what Java methods are fuzzed with"
	rm -rf "$folder"
	mkdir -p "$folder"
	for name in jazzer jazzer-api; do
		mvn -q -B dependency:copy "-Dartifact=com.code-intelligence:$name:$engine_java" "-DoutputDirectory=$folder" || return 1
	done
	echo "$engine_java" >"$folder/installed"
}

# What values from schemas are compared with, once, into build-peers.
peer_python=(hypothesis==6.170.9 hypothesis-jsonschema==0.23.1) # the newer Hypothesis breaks the other
peer_npm=json-schema-faker@0.6.3
fetch_peers() {
	local folder
	folder=$(dirname "$0")/../build-peers
	[ "$(cat "$folder/installed" 2>/dev/null)" != "${peer_python[*]} $peer_npm" ] || return 0
	echo "setup: installing with pip and npm into build-peers, 40 MB: what hotcell's values from schemas are compared with:"
	printf '  %s\n' "${peer_python[@]}" "$peer_npm"
	rm -rf "$folder"
	mkdir -p "$folder"
	"$(system_python)" -m venv "$folder/venv" || return 1
	"$folder/venv/bin/pip" install -q --disable-pip-version-check "${peer_python[@]}" || return 1
	npm_into "$folder/npm" "$peer_npm" || return 1
	echo "${peer_python[*]} $peer_npm" >"$folder/installed"
}

lacks gcc "compiles hotcell" has gcc
lacks libc6-dev "the C library's headers" has_libc
lacks meson "the build system" has meson
lacks ninja-build "runs the build" has ninja
lacks pkg-config "finds libraries for the build" has pkg-config
lacks libsqlite3-dev "the ledger of campaigns" has_library sqlite3
lacks libyaml-dev "reads campaign files" has_library yaml-0.1
lacks libssl-dev "TLS of secret doors" has_library libssl
lacks libpcre2-dev "regular expressions of JSON Schema" has_library libpcre2-8
lacks libc-ares-dev "resolves names for doors" has_library libcares
lacks python3 "runs the example server, the tests and the checks" has python3
lacks python3-venv "keeps what pip installs out of the system" has_venv
lacks clang "builds functions in C for fuzzing, and the fuzz harnesses" has clang
if [ "$wanted" != demo ]; then
	lacks libcmocka-dev "unit tests" has_library cmocka
	lacks mandoc "checks the manual" has mandoc
	lacks zsh "reads the completion that is made for it" has zsh
fi
if [ "$wanted" = test ] || [ "$wanted" = bench ]; then
	lacks gdb "reads the cores that are kept of findings" has gdb
	lacks afl++ "an engine that C functions are fuzzed with" has afl-fuzz
	lacks llvm "measures what functions in C reach" has llvm-cov
	lacks golang-go "builds the functions in Go that are fuzzed" has_go
	lacks default-jdk-headless "builds and runs the Java methods that are fuzzed" has javac
	lacks maven "fetches what they are fuzzed with" has mvn
	lacks rustc "builds Rust functions to be fuzzed, as an ordinary user" test -x /usr/bin/rustc
	lacks cargo "builds Rust packages to be fuzzed, as an ordinary user" test -x /usr/bin/cargo
	lacks bubblewrap "the sandbox that cells are compared with" has bwrap
	lacks parallel "what campaigns are compared with" has parallel
	lacks squid "a proxy that doors are compared with, and go through" test -x /usr/sbin/squid
	lacks tinyproxy "another proxy that doors are compared with" has tinyproxy
	lacks tmux "tests of terminals" has tmux
	lacks sudo "runs half of the tests as root" has sudo
	lacks curl "a program that tries to get out" has curl
	lacks git "a program that must not be reached" has git
	lacks openssl "certificates of the web servers that doors lead to" has openssl
	lacks postgresql "a database behind a door, and its client" has_postgres
	lacks chromium "a browser in a cell, under the profile for browsers" has chromium
	lacks nodejs "a client whose fetch uses doors" has node
	lacks npm "fetches the agent that works through a door" has npm
	lacks qemu-system-x86 "a machine with cgroup v2 alone, to test on" has qemu-system-x86_64
	lacks busybox-static "what that machine has for programs" has busybox
	lacks cpio "packs that machine's files" has cpio
	lacks procps "looks for processes left behind" has ps
	lacks passwd "makes the ordinary account of the tests" test -x /usr/sbin/useradd
	lacks uidmap "gives an ordinary user's cells users of their own" has newuidmap
fi
install_noted
fuzzer_links >/dev/null 2>&1 || { packages+=("$(runtime_package)"); reasons+=("sanitizers and libFuzzer for clang"); }
install_noted

# What is fetched waits for the network: side by side, and one that fails fails all.
jobs=()
beside() {
	("$@") &
	jobs+=($!)
}
beside fetch_python_engine
if [ "$wanted" = test ] || [ "$wanted" = bench ]; then
	beside fetch_engine_java
	beside fetch_engine_javascript
	beside warm_go
fi
if [ "$wanted" = test ]; then
	beside fetch_npm
	beside fetch_schema_suite
	beside fetch_servers
fi
[ "$wanted" != bench ] || beside fetch_peers
for job in "${jobs[@]}"; do
	wait "$job"
done
