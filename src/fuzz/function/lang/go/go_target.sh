# Builds, runs, replays and measures a Go target. Runs inside cells: as `sh go.sh MODE WORD...`, with target.sh beside it.
#
# Nothing of the target is copied or changed: our files are put beside its own by an overlay, which the go command reads
# instead of the disk. A harness package is added to its module, and a file that names the function to its package. What C
# calls is in the program, which has to be in a folder that is really there: the package, if it is one, and else one of ours.
# It imports the package through another one of its module: it may be an internal one.
set -eu
WORK=/fuzz ROOT=/target
. $WORK/target.sh
PACKAGE_DIR=$ROOT${DIR:+/$DIR}
export HOME=/tmp GO111MODULE=on GOENV=off GOFLAGS=-buildvcs=false GOPROXY=off GOSUMDB=off GOTOOLCHAIN=local GOWORK=off GOTELEMETRY=off
if [ -d /libraries ]; then GOMODCACHE=/libraries; else GOMODCACHE=$WORK/modules; fi
export GOMODCACHE GOTRACEBACK=${GOTRACEBACK:-single}

# ---- building ----

overlay() { # IN_THE_MODULE [FILE]: without a file, it is not there
	printf '%s"%s":"%s"' "$comma" "$1" "${2-}" >>$OVERLAY
	comma=,
}

package_of() {
	sed -n 's/^package[[:space:]]\{1,\}\([A-Za-z0-9_]*\).*/\1/p' "$1" | head -n 1
}

# Test files as files like others, which say where they come from.
tests_as_files() {
	mkdir -p $WORK/tests
	for file in "$PACKAGE_DIR"/*_test.go; do
		name=${file##*/}
		case $(package_of "$file") in
		*_test) folder=$PACKAGE_DIR/external_of_hotcell ;;
		*) folder=$PACKAGE_DIR ;;
		esac
		{ printf '//line %s:1\n' "$file" && cat "$file"; } >"$WORK/tests/$name"
		if [ "$folder" = "$PACKAGE_DIR" ] || [ "$EXTERNAL" = 1 ]; then
			overlay "$folder/of_hotcell_${name%_test.go}.go" "$WORK/tests/$name"
		fi
	done
}

modules() {
	if [ -f $ROOT/go.mod ]; then
		MODULE=$(go list -m)
		return
	fi
	MODULE=hotcell.invalid/target # like `go run FILE`: that file, and nothing beside it
	printf 'module %s\n\ngo 1.18\n' $MODULE >$WORK/go.mod
	overlay $ROOT/go.mod $WORK/go.mod
	for file in $ROOT/*.go; do
		[ "$file" = "$ROOT/$FILE" ] || [ "$KIND" = fuzz ] || overlay "$file"
	done
	for file in $ROOT/*.c $ROOT/*.cc $ROOT/*.cpp $ROOT/*.cxx $ROOT/*.m $ROOT/*.[fF] $ROOT/*.for $ROOT/*.f90 $ROOT/*.[sS] $ROOT/*.sx \
		$ROOT/*.swig $ROOT/*.swigcxx $ROOT/*.syso; do # the go command would take them for parts of the package
		[ ! -f "$file" ] || overlay "$file"
	done
}

# What both engines need: the harness in the module.
begin_overlay() { # FILE
	OVERLAY=$1 comma=
	printf '{"Replace":{' >$OVERLAY
	modules
	IMPORT=$MODULE${DIR:+/$DIR}
	for name in harness data; do
		overlay $ROOT/harness_of_hotcell/$name.go $WORK/go_$name.go
	done
	[ "$2" = program ] && [ "$KIND" = function ] || overlay $ROOT/harness_of_hotcell/tests.go $WORK/go_tests.go
	[ "$2" != serve ] || overlay $ROOT/harness_of_hotcell/serve.go $WORK/go_serve.go
	sed "s|HOTCELL_MODULE|$MODULE|" $WORK/register.go >$WORK/register_of.go
}

end_overlay() {
	printf '}}\n' >>$OVERLAY
}

# A program of the package for libFuzzer. Fuzz tests become files like others, those of another package a package of their own.
prepare_program() {
	begin_overlay $WORK/overlay.json program
	to=$PACKAGE_DIR EXTERNAL=0
	case $KIND$PACKAGE in fuzz*_test) EXTERNAL=1 to=$PACKAGE_DIR/external_of_hotcell IMPORT=$IMPORT/external_of_hotcell ;; esac
	[ "$KIND" = function ] || tests_as_files
	overlay "$to/harness_of_hotcell.go" $WORK/register_of.go
	mkdir -p $WORK/program
	sed "s|HOTCELL_MODULE|$MODULE|" $WORK/go_export.go >$WORK/program/export.go
	if [ "$PACKAGE" = main ]; then
		PROGRAM=$IMPORT
		overlay "$PACKAGE_DIR/export_of_hotcell.go" $WORK/program/export.go
	else
		PROGRAM="$WORK/program/export.go $WORK/program/main.go"
		printf 'package bridge\n\nimport _ "%s"\n' "$IMPORT" >$WORK/bridge.go
		overlay $ROOT/bridge_of_hotcell/bridge.go $WORK/bridge.go
		printf 'package main\n\nimport _ "%s/bridge_of_hotcell"\n\nfunc main() {}\n' "$MODULE" >$WORK/program/main.go
	fi
	end_overlay
}

# A test of the package. All of ours is in test files: what measures coverage does not look into overlays.
prepare_test() { # test | serve
	begin_overlay $WORK/overlay_test.json "$1"
	if [ "$KIND" = function ]; then
		for file in "$PACKAGE_DIR"/*_test.go; do
			[ ! -e "$file" ] || overlay "$file"
		done
	fi
	sed "s|HOTCELL_MODULE|$MODULE|; s|HOTCELL_PACKAGE|$PACKAGE|" $WORK/go_run.go >$WORK/run_test.go
	overlay "$PACKAGE_DIR/harness_of_hotcell_test.go" $WORK/register_of.go
	overlay "$PACKAGE_DIR/run_of_hotcell_test.go" $WORK/run_test.go
	end_overlay
}

# Whether libFuzzer can be linked, and Go can be called from C.
has_libfuzzer() {
	command -v clang >/dev/null && [ "$(CC=clang go env CGO_ENABLED)" = 1 ] || return 1
	echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }' >/tmp/probe.c
	clang -w -fsanitize=fuzzer -o /tmp/probe /tmp/probe.c 2>/dev/null
}

begin_build() {
	if [ -d /cache ]; then GOCACHE=/cache; else GOCACHE=$WORK/cache; fi
	GOTMPDIR=$WORK/tmp
	export GOCACHE GOTMPDIR
	mkdir -p $GOTMPDIR
	if [ -d /cache.seed ]; then # read-only: what is there is used, and what is new is the project's
		mkdir -p $GOCACHE
		cp -rsn /cache.seed/. $GOCACHE/ 2>/dev/null || :
		for name in trim.txt testexpire.txt; do
			[ ! -L $GOCACHE/$name ] || rm -f $GOCACHE/$name
		done
	fi
}

build() {
	begin_build
	if has_libfuzzer; then
		export CC=clang CGO_ENABLED=1
		prepare_program
		go build -overlay $OVERLAY -buildmode=c-archive -tags=libfuzzer -gcflags=all=-d=libfuzzer "-gcflags=$MODULE/harness_of_hotcell=" \
			-o $WORK/tmp/target.a $PROGRAM
		clang -O1 -w -fsanitize=fuzzer -o $WORK/harness $WORK/go_engine.c $WORK/tmp/target.a -lpthread -lresolv -ldl
	else
		export CGO_ENABLED=0
		prepare_test test
		go test -c -vet=off -overlay $OVERLAY -fuzz='^FuzzHotcell$' -o $WORK/harness.test "$IMPORT"
	fi
	[ "$COVER" = 0 ] || build_cover || echo "it can be fuzzed, and its coverage cannot be measured" >&2
	rm -rf $WORK/tmp $WORK/cache
}

# A test as well: of a package main, that is the only program which does not begin with its main.
build_serve() {
	begin_build
	! command -v clang >/dev/null || export CC=clang
	prepare_test serve
	go test -c -vet=off -overlay $OVERLAY -o $WORK/harness.test "$IMPORT"
	rm -rf $WORK/tmp $WORK/cache
}

build_cover() {
	prepare_test test
	packages=$(go list -overlay $OVERLAY -deps -f '{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}' "$IMPORT" | tr '\n' ,)
	go test -c -vet=off -overlay $OVERLAY -cover -covermode=set -coverpkg="${packages%,}" -o $WORK/cover.test "$IMPORT" &&
		printf '%s\n' "$MODULE" >$WORK/module
}

# ---- running ----

value() { # PREFIX WORD...: what follows it, of the last word that has it
	prefix=$1 found=
	shift
	for word; do
		case $word in "$prefix"*) found=${word#"$prefix"} ;; esac
	done
	printf %s "$found"
}

go_test() { # with Go's own engine, where there is no libFuzzer
	seconds=$(value -max_total_time= "$@") runs=$(value -runs= "$@")
	limit=${seconds:+${seconds}s}
	[ -z "$runs" ] || limit=${runs}x
	mkdir -p /tmp/run && cd /tmp/run
	status=0
	HOTCELL_WORDS=fuzz $WORK/harness.test -test.run='^$' -test.fuzz='^FuzzHotcell$' -test.fuzzcachedir=/tmp/cache -test.parallel=1 \
		${limit:+-test.fuzztime=$limit} >&2 || status=$?
	if [ $status = 0 ]; then
		echo '#0 DONE' >&2
		return 0
	fi
	for file in testdata/fuzz/FuzzHotcell/*; do
		[ -f "$file" ] || continue
		HOTCELL_WORDS="raw $file $WORK/crashes/crash-${file##*/}" $WORK/harness.test -test.run='^TestHotcell$' >/dev/null
		echo "Test unit written to $WORK/crashes/crash-${file##*/}" >&2
		return 77
	done
	return $status
}

alone() { # one input with Go's own engine: whatever ends it before it means to is a crash
	status=0
	HOTCELL_WORDS="$*" $WORK/harness.test -test.run='^TestHotcell$' >/dev/null || status=$?
	[ -e /tmp/told ] && return $status
	echo "==1== ERROR: libFuzzer: fuzz target exited (exit code $status)" >&2
	return 77
}

cover() { # the corpus' folder
	cd "$PACKAGE_DIR"
	HOTCELL_WORDS="cover $1" $WORK/cover.test -test.run='^TestHotcell$' -test.coverprofile=$WORK/profile >/dev/null
	read -r MODULE <$WORK/module
	awk -v module="$MODULE/" -v root=$ROOT/ -f $WORK/go_lcov.awk $WORK/profile >$WORK/coverage.info
}

# Go's handlers stay: libFuzzer's would run on the stack of a goroutine, which is too small for them.
OWN_SIGNALS="-handle_abrt=0 -handle_alrm=0 -handle_bus=0 -handle_fpe=0 -handle_ill=0 -handle_segv=0"
mode=$1
shift
[ "$mode" = build ] || export GOMEMLIMIT="$MEMORY"
case $mode in
build) build ;;
build_serve) build_serve ;;
serve) # what the target prints is for nobody, and documents are not for it to read
	HOTCELL_WORDS=serve exec $WORK/harness.test -test.run='^TestHotcell$' 3>&1 4<&0 >/dev/null </dev/null
	;;
cover) cover "$@" ;;
merge) # what libFuzzer alone can do
	[ -x $WORK/harness ] || exit 1
	exec $WORK/harness $OWN_SIGNALS "$@"
	;;
fuzz)
	[ -x $WORK/harness ] || { go_test "$@" && exit 0 || exit $?; }
	exec $WORK/harness $OWN_SIGNALS "$@"
	;;
minimise)
	[ -x $WORK/harness ] || { alone "$mode" "$@" && exit 0 || exit $?; }
	status=0
	$WORK/harness minimise "$@" || status=$?
	[ $status = 77 ] || exit $status # it can be done in one process
	exec $WORK/harness $OWN_SIGNALS -minimize_crash=1 -max_total_time="$3" -exact_artifact_path="$2" "$1"
	;;
*)
	[ -x $WORK/harness ] || { alone "$mode" "$@" && exit 0 || exit $?; }
	exec $WORK/harness "$mode" "$@"
	;;
esac
