#!/bin/bash
# Everything `make test` proves, in order, and the sum of it on the last line: "N passed, N failed".
#
#	tools/test.sh           the whole: builds, checks, units (plain and sanitized), fuzz corpora,
#	                        then the system tests as root and as an ordinary user, and as root
#	                        with each protection taken away in turn; at last the demo
#	tools/test.sh --long    the same with the long system tests
#	tools/test.sh --asan    units and system tests of the sanitized build only
#	tools/test.sh --quick   builds, checks and units only
#	tools/test.sh --check   `make check`: one build, checks, units, corpora, and every verb once
#	tools/test.sh --system  the system tests only
#
# The system tests run from a copy of the tree's tests in a folder below /tmp, since an ordinary
# account may not be able to read this one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

mode=${1:-}
account=hotcell-test
passed=0 failed=0
failures=()
started=$SECONDS
stage=$(mktemp -d /tmp/hotcell-test.XXXXXX) || exit 1
chmod 755 "$stage"
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3)
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

finish() {
	as_root rm -rf "$stage" 2>/dev/null || rm -rf "$stage"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

heading() { printf '\n== %s (%d s)\n' "$*" $((SECONDS - started)); }

pass() { passed=$((passed + $1)); }

fail() { # COUNT WHAT
	failed=$((failed + $1))
	failures+=("$2")
}

# check NAME COMMAND...: one thing that holds or does not; its output is shown where it does not.
check() {
	local name=$1 log="$stage/check.log"
	shift
	if "$@" >"$log" 2>&1; then
		echo "ok    $name"
		pass 1
		return 0
	fi
	echo "FAIL  $name"
	sed 's/^/      /' "$log" | tail -n 60
	fail 1 "$name"
	return 1
}

sum() {
	printf '\n'
	if [ $failed -gt 0 ]; then
		echo "What failed:"
		printf '  %s\n' "${failures[@]}"
	fi
	echo "Took $((SECONDS - started)) s."
	echo "$passed passed, $failed failed"
	[ $failed -eq 0 ]
	exit
}

# ---- builds ----

build() { # FOLDER OPTION...
	local folder=$1
	shift
	if [ -e "$folder/build.ninja" ]; then
		meson configure "$folder" "$@" || return 1
	else
		rm -rf "$folder"
		meson setup "$folder" "$@" || return 1
	fi
	ninja -C "$folder" ${part:+"$part"}
}

build_plain() { build build -Dtests=true; }
# What is only tried out is optimised little, and knows its lines but not its variables: half of the time to build it.
lightly=(-Doptimization=1 -Ddebug=false -Dc_args=-g1)
build_asan() { build build-asan -Dtests=true -Db_sanitize=address,undefined "${lightly[@]}"; }
build_weak() {
	part=hotcell build build-weak -Dweaken=true "${lightly[@]}" || return 1
	! nm build/hotcell | grep -q weaken
}
build_fuzz() (
	export CC=clang
	part=harnesses build build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false "${lightly[@]}"
)

# ---- checks ----

is_static() {
	readelf -dlW build/hotcell | tee "$stage/elf" | grep -E 'NEEDED|INTERP' && return 1
	grep -q 'Dynamic section' "$stage/elf"
}

is_hardened() {
	readelf -hldsW build/hotcell >"$stage/elf"
	grep -q 'Type: *DYN' "$stage/elf" && grep -q GNU_RELRO "$stage/elf" && grep -qE 'BIND_NOW|FLAGS_1.*NOW' "$stage/elf" &&
		grep -q 'GNU_STACK.* RW ' "$stage/elf" && grep -q __stack_chk_fail "$stage/elf"
}

lint_man() {
	local page bad=0
	for page in man/*.[13]; do
		mandoc -Tlint -W warning "$page" || bad=1
	done
	return $bad
}

# The table says it, the page repeats it.
threats_are_told() {
	build/hotcell review --threats | diff -u docs/THREATS.md - || { echo "write it anew: build/hotcell review --threats >docs/THREATS.md"; return 1; }
}

completion_parses() {
	build/hotcell completion bash >"$stage/completion.bash" && bash -n "$stage/completion.bash" || return 1
	build/hotcell completion zsh >"$stage/completion.zsh" || return 1
	zsh -n "$stage/completion.zsh"
}

scripts_parse() {
	local script bad=0
	for script in tools/* .ci/run bench/run bench/*.py examples/demo tests/vm/run; do
		case $(head -n 1 "$script") in
		*bash | *sh) bash -n "$script" || bad=1 ;;
		*python3 | \"\"\"*) "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script" || bad=1 ;;
		esac
	done
	return $bad
}

# Everything written is built: a file that no list names would be tested by nobody.
lists_are_complete() {
	local file bad=0
	while IFS= read -r file; do
		grep -q "'${file#src/}'" src/meson.build || { echo "$file is not in src/meson.build"; bad=1; }
	done < <(find src -name '*.c')
	while IFS= read -r file; do
		file=$(basename "$file" _test.c)
		grep -q "^  '$file'," tests/meson.build || { echo "unit test '$file' is not in tests/meson.build"; bad=1; }
	done < <(find tests/unit -name '*_test.c')
	while IFS= read -r file; do
		file=$(basename "$file" .c)
		grep -q "^  '${file#fuzz_}'," tests/meson.build || { echo "harness '$file' is not in tests/meson.build"; bad=1; }
	done < <(find tests/fuzz -name 'fuzz_*.c')
	return $bad
}

# Of two tests of one name in a file only the second is ever run.
names_are_told_apart() {
	awk 'match($0, /^def test_[a-z0-9_]+/) { name = FILENAME ": " substr($0, 5, RLENGTH - 4); if (seen[name]++) { print name; bad = 1 } }
		END { exit bad }' tests/system/test_*.py
}

# ---- unit tests ----

# One program's words and exit code, to be counted later.
unit_run() { # PROGRAM LOG
	local status=0
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 120 "$1" >"$2" 2>&1 || status=$?
	echo $status >"$2.status"
}

# Counts the cases of one program from its TAP; one that ended badly without a failed case is one.
unit() { # LABEL LOG
	local label=$1 log=$2 status good bad
	status=$(cat "$log.status" 2>/dev/null || echo 1)
	good=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^not ok ' "$log")
	if [ "$bad" -eq 0 ] && { [ $status -ne 0 ] || [ "$good" -eq 0 ]; }; then
		bad=1
	fi
	pass "$good"
	if [ "$bad" -gt 0 ]; then
		echo "FAIL  $label: $good passed, $bad failed (exit $status)"
		grep -v '^ok ' "$log" | sed 's/^/      /' | tail -n 60
		fail "$bad" "unit tests: $label"
	else
		echo "ok    $label: $good"
	fi
}

# The unit tests of these folders, three at once: many of them wait more than they do.
units() { # FOLDER WHAT ...
	local program logs found
	logs=$(mktemp -d "$stage/units.XXXXXX")
	for program in $(units_of "$@"); do
		while [ "$(jobs -rp | wc -l)" -ge 3 ]; do wait -n; done
		unit_run "$program" "$logs/${program//\//-}" &
	done
	wait
	while [ $# -gt 0 ]; do
		found=0
		for program in $(units_of "$1" ""); do
			found=1
			unit "$(basename "$program" _test)$2" "$logs/${program//\//-}"
		done
		[ $found -eq 1 ] || { echo "FAIL  no unit tests in $1"; fail 1 "unit tests$2: none built"; }
		shift 2
	done
}

units_of() { # FOLDER WHAT ...
	local program
	for (( ; $# > 0; )); do
		for program in "$1"/tests/*_test; do
			[ ! -x "$program" ] || echo "$program"
		done
		shift 2
	done
}

# ---- fuzz corpora ----

replay() { # PROGRAM NAME
	[ -n "$(ls -A "tests/fuzz/corpus/$2" 2>/dev/null)" ] || { echo "no corpus in tests/fuzz/corpus/$2"; return 1; }
	timeout -k 5 120 "$1" "tests/fuzz/corpus/$2"
}

replay_by_libfuzzer() { # PROGRAM NAME
	timeout -k 5 120 "$1" -runs=0 -timeout=10 "tests/fuzz/corpus/$2"
}

fuzz_corpora() { # FOLDER
	local program name
	[ -z "${long:-}" ] || check "fuzz harnesses build (clang, libFuzzer, ASan, UBSan)" build_fuzz
	for program in tests/fuzz/fuzz_*.c; do
		name=$(basename "$program" .c)
		name=${name#fuzz_}
		check "corpus of $name replays" replay "$1/tests/replay_$name" "$name"
		[ -z "${long:-}" ] || check "corpus of $name replays by libFuzzer" replay_by_libfuzzer "build-fuzz/tests/fuzz_$name" "$name"
	done
}

# ---- system tests ----

# pytest stays in a venv; an ordinary account uses its packages with the system's own python.
make_venv() {
	local venv=build/venv
	if ! "$venv/bin/python" -c 'import jsonschema, pytest, pytest_timeout, requests' 2>/dev/null; then
		rm -rf "$venv"
		"$python" -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check jsonschema pytest pytest-timeout requests || return 1
	fi
	mkdir -p "$stage/site"
	cp -r "$venv"/lib/python3*/site-packages/. "$stage/site"
}

make_stage() { # BINARY
	make_venv && mkdir -p "$stage/build/tests" && cp "$1" "$stage/build/hotcell" &&
		cp "$(dirname "$1")"/tests/{effects,listeners} "$stage/build/tests/" && cp -r tests man examples docs python "$stage/" &&
		cp "$(dirname "$1")/libhotcell.so" "$stage/build/" &&
		meson install -C "$(dirname "$1")" --no-rebuild --quiet --destdir "$stage/install" &&
		mkdir -p "$stage/src/review" && cp -r src/review/program "$stage/src/review/" &&
		{ cp -rl build-npm build-servers build-engines "$stage/" 2>/dev/null || cp -r build-npm build-servers build-engines "$stage/"; } &&
		find "$stage" -name __pycache__ -prune -exec rm -rf {} + && chmod -R go=rX,u+rwX "$stage"
}

count_junit() { # FILE: prints "passed failed"
	"$python" - "$1" <<-'END'
		import sys
		import xml.etree.ElementTree as tree
		try:
		    suites = list(tree.parse(sys.argv[1]).getroot().iter("testsuite"))
		    total, bad = (sum(int(s.get(k, 0)) for s in suites for k in keys)
		                  for keys in (("tests",), ("failures", "errors", "skipped")))
		    print(total - bad, bad)
		except (OSError, tree.ParseError):
		    print(0, 0)
	END
}

# One suite as root or as an ordinary user, into a folder: its words, its exit code, its result. Some run at once, so each
# has shared memory and a hotcell of its own, and a folder of live cells where the user is the same: what it leaves is told
# from what the others do meanwhile.
suite() { # FOLDER WHO PRETEND
	local work=$1 who=$2 pretend=$3 less=() what=(.) status=0 inside
	# what only reads the ledger, or is outside of cells, is the same whatever a cell lacks
	[ -z "$pretend" ] || less=(--ignore=test_campaign_verbs.py --ignore=test_audit.py --ignore=test_manifest.py --ignore=test_findings.py
		--ignore-glob='test_doors*.py' --ignore-glob='test_fuzz*.py' --ignore=test_corpus.py)
	# they change what a cell is made of, and little above it
	if [ -z "${long:-}" ] && [ "$who" = root ] && [ -n "$pretend" ]; then
		what=(test_{bad_input,cgroups,doctor,effects,forbid,isolation,lessons,lifecycle,limits,listeners,live,mounts,output,receipt,run,traces}.py)
	fi
	mkdir -p "$work/home" && cp -r "$stage/build" "$work/build" && chmod 755 "$work" "$work/home"
	[ "$who" = root ] || as_root chown "$(user_name):" "$work" "$work/home"
	inside='mount -t tmpfs -o mode=1777 tmpfs /dev/shm && cd "$0" && exec "$@"'
	as_root unshare --ipc --mount sh -c "$inside" "$stage/tests/system" $(become "$who") \
		env -i PATH="$PATH:/usr/sbin:/sbin" HOME="$work/home" LC_ALL=C.UTF-8 TERM=xterm \
		PYTHONPATH="$stage/site" PYTHONDONTWRITEBYTECODE=1 HOTCELL="$work/build/hotcell" \
		${pretend:+HOTCELL_PRETEND="$pretend" XDG_RUNTIME_DIR="$work/home"} ${long:+HOTCELL_LONG=1} ${asan:+ASAN_OPTIONS="$asan"} \
		"$python" -m pytest -q --timeout="${long:-${patience:-180}}" --tb=short --durations=12 --junitxml="$work/home/result.xml" "${less[@]}" "${what[@]}" || status=$?
	echo $status >"$work/status"
}

# What a suite said, and how many of its tests held. A skipped test counts as failed: what cannot be tried here is not
# proven here.
suite_sum() { # LABEL FOLDER
	local label=$1 work=$2 status good bad
	status=$(cat "$work/status" 2>/dev/null || echo 1)
	read -r good bad < <(count_junit "$work/home/result.xml")
	[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	[ "$good" -gt 0 ] || [ "$bad" -gt 0 ] || bad=1
	echo "$label: $good passed, $bad failed"
	pass "$good"
	[ "$bad" -eq 0 ] || fail "$bad" "system tests: $label"
}

# Suites at once, three words each: LABEL WHO PRETEND. The first is shown as it goes, the others when they have ended.
system() {
	local work labels=() works=() i
	heading "system tests: $1${4:+; $4}${7:+; $7}${10:+; ${10}}"
	while [ $# -gt 0 ]; do
		work=$(mktemp -d "$stage/work.XXXXXX")
		if [ ${#works[@]} -eq 0 ]; then
			suite "$work" "$2" "$3" 2>&1 | tee "$work/words" &
		else
			suite "$work" "$2" "$3" >"$work/words" 2>&1 &
		fi
		labels+=("$1")
		works+=("$work")
		shift 3
	done
	wait
	for i in "${!works[@]}"; do
		[ "$i" -eq 0 ] || { echo "-- ${labels[i]}"; cat "${works[i]}/words"; }
		suite_sum "${labels[i]}" "${works[i]}"
	done
}

# Every verb once, as who calls.
system_check() {
	local work="$stage/check"
	check "pytest is ready" make_venv || return
	heading "every verb once"
	mkdir -p "$work/home"
	(cd tests/system && env -i PATH="$PATH:/usr/sbin:/sbin" HOME="$work/home" LC_ALL=C.UTF-8 TERM=xterm PYTHONPATH="$stage/site" \
		PYTHONDONTWRITEBYTECODE=1 HOTCELL="$OLDPWD/build/hotcell" "$python" -m pytest -q -p no:cacheprovider --timeout=180 --tb=short \
		--junitxml="$work/home/result.xml" test_verbs.py)
	echo $? >"$work/status"
	suite_sum "every verb" "$work"
}

system_all() { # BINARY
	check "pytest and a copy of the tests are ready" make_stage "$1" || return
	if [ "$(id -u)" -eq 0 ]; then
		check "the account '$account' is there" tools/make-user.sh "$account" || return
	else
		check "root for half of the tests (sudo without a password)" sudo -n true || return
	fi
	system "as root" root "" "as an ordinary user" user ""
	[ -z "${asan:-}" ] || return
	system "as root, no-cgroup" root no-cgroup "as root, no-landlock" root no-landlock "as root, no-userns" root no-userns \
		"as an ordinary user without user namespaces" user no-userns
}

# ---- programs that print "ok ..." and "not ok ..." lines ----

lines() { # WHAT COMMAND...
	local line good=0 bad=0 what=$1
	shift
	heading "$what"
	while IFS= read -r line; do
		echo "$line"
		case $line in
		"ok "*) good=$((good + 1)) ;;
		"not ok "*) bad=$((bad + 1)) ;;
		esac
	done < <("$@" 2>&1)
	# one that ended badly has not proved what it did not come to
	wait $! && [ $good -gt 0 ] || [ $bad -gt 0 ] || bad=1
	pass $good
	[ $bad -eq 0 ] || fail $bad "$what"
}

# The words to put before a command so that root or an ordinary user does it.
as_who() { # WHO
	if [ "$1" = root ]; then
		[ "$(id -u)" -eq 0 ] || echo sudo -n
	elif [ "$(id -u)" -eq 0 ]; then
		echo setpriv "--reuid=$account" "--regid=$account" --init-groups
	fi
}

# The same for a command that root starts.
become() { # WHO
	if [ "$1" != root ]; then
		echo setpriv "--reuid=$(user_name)" "--regid=$(id -g "$(user_name)")" --init-groups
	fi
}

user_name() { if [ "$(id -u)" -eq 0 ]; then echo "$account"; else id -un; fi; }

# As root and as an ordinary user at once; what one leaves is told by the number of its supervisor.
soak() { # COUNT
	local status=0 user
	mkdir -p "$stage/soak-user" && cp build/tests/soak "$stage/soak" && cp build/tests/soak "$stage/soak-user/soak" &&
		chmod 755 "$stage/soak" "$stage/soak-user" "$stage/soak-user/soak"
	(cd / && exec $(as_who user) "$stage/soak-user/soak" "$1") >"$stage/soak.user" 2>&1 &
	user=$!
	(cd / && exec $(as_who root) "$stage/soak" "$1") || status=1
	echo "# as an ordinary user"
	wait $user || status=1
	cat "$stage/soak.user"
	return $status
}

# The mutation test of the sandbox: each protection is left out in turn, and every attack that names it must get through.
# As root and as an ordinary user at once: either waits much.
self_check() {
	local status=0 user
	cp build-weak/hotcell "$stage/hotcell-weak" && chmod 755 "$stage/hotcell-weak"
	(cd / && exec $(as_who user) "$stage/hotcell-weak" self-check --strict) >"$stage/self-check.user" 2>&1 &
	user=$!
	(cd / && exec $(as_who root) "$stage/hotcell-weak" self-check --strict) || status=1
	echo "# as an ordinary user"
	wait $user || status=1
	cat "$stage/self-check.user"
	return $status
}

# ---- JSON-Schema-Test-Suite ----

schema_drafts=(draft2020-12 draft2019-09 draft7)

schema_checks() { build/tests/suite build-schema/suite "${schema_drafts[@]}"; }

# What is made from each schema of the suite, judged by a validator that is not ours.
schema_makes() {
	local draft bad=0
	for draft in "${schema_drafts[@]}"; do
		build/tests/suite --instances 20 build-schema/suite "$draft" >"$stage/instances" &&
			build-schema/venv/bin/python tests/schema/judge.py build-schema/suite "$draft" <"$stage/instances" || bad=1
	done
	return $bad
}

# ---- the whole ----

[ "$mode" = --long ] && long=3600
heading "builds"
if [ "$mode" != --asan ]; then
	check "hotcell builds without a warning" build_plain || sum
fi
if [ "$mode" = --system ]; then
	system_all build/hotcell
	sum
fi
if [ "$mode" != --check ]; then
	check "hotcell builds with AddressSanitizer and UBSan" build_asan || sum
fi

if [ "$mode" = --asan ]; then
	asan=detect_leaks=1 patience=600
	heading "unit tests, sanitized"
	units build-asan " (sanitized)"
	system_all build-asan/hotcell
	sum
fi

if [ "$mode" != --check ]; then
	check "a build to be weakened builds, and the other has nothing of it" build_weak || sum
fi

heading "checks"
check "src/LAYERS is kept" "$python" tools/check-layers
check "src/PATHS is kept" "$python" tools/check-paths
check "every header compiles alone" tools/check-headers
check "every source and test is in a list" lists_are_complete
check "no test takes another's name" names_are_told_apart
check "hotcell needs nothing but its own file" is_static
check "hotcell is hardened (PIE, RELRO, BIND_NOW, stack protector)" is_hardened
check "manual pages lint clean" lint_man
check "manual pages have every option" tools/check-man build/hotcell
check "docs/THREATS.md is what the catalogue says" threats_are_told
check "completion scripts parse" completion_parses
check "scripts parse" scripts_parse

if [ "$mode" = --check ]; then
	heading "unit tests"
	units build ""
	heading "fuzz corpora"
	fuzz_corpora build
	system_check
	sum
fi

heading "unit tests"
units build "" build-asan " (sanitized)"

heading "fuzz corpora"
fuzz_corpora build-asan

lines "JSON-Schema-Test-Suite" schema_checks
lines "values made from its schemas, judged by another validator" schema_makes

[ "$mode" = --quick ] && sum
system_all build/hotcell
lines "every protection is missed when it is left out, as root and as an ordinary user" self_check
lines "after 10,000 cells nothing is left, as root and as an ordinary user" soak 10000
lines "a virtual machine with cgroup v2 alone" tests/vm/run build/hotcell
heading "the demo"
check "all attacks of the demo are held, its campaign is resumed, and all that is planted is found" timeout -k 5 300 examples/demo build/hotcell
sum
