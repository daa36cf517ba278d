#!/bin/sh
# AFL++ for hotcell, inside a cell: takes libFuzzer's flags, tells what AFL++ does in libFuzzer's words on stderr, and leaves
# crashes as NAME.txt (what the same harness says of the input, built for libFuzzer), then NAME.input. AFL++ goes on after each.
#
#	afl_run.sh HARNESS REPLAY FLAG... CORPUS
harness=$1 replay=$2
shift 2
seconds='' seed='' dict='' most='' limit=1000 crashes=/tmp corpus=''
for flag; do
	case $flag in
	-max_total_time=*) seconds=${flag#*=} ;;
	-seed=*) seed=${flag#*=} ;;
	-dict=*) dict=${flag#*=} ;;
	-runs=*) most=${flag#*=} ;;
	-timeout=*) limit=$((${flag#*=} * 1000)) ;;
	-artifact_prefix=*) crashes=${flag#*=} ;;
	-*) ;;
	*) corpus=$flag ;;
	esac
done
crashes=${crashes%/}
out=/tmp/afl seeds=/tmp/seeds
mkdir -p "$seeds"
for file in "$corpus"/*; do
	[ -f "$file" ] && [ ! -L "$file" ] && cp "$file" "$seeds/"
done
[ -n "$(ls -A "$seeds")" ] || printf 0 >"$seeds/first"

# What the other build is told is not for this one: AFL++ sets its own.
unset ASAN_OPTIONS UBSAN_OPTIONS MSAN_OPTIONS
export AFL_NO_UI=1 AFL_NO_AFFINITY=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 \
	AFL_FORKSRV_INIT_TMOUT=20000 AFL_IGNORE_PROBLEMS=1 AFL_QUIET=1
afl-fuzz -i "$seeds" -o "$out" -m none -t "$limit+" -c 0 ${seconds:+-V "$seconds"} ${most:+-E "$most"} ${seed:+-s "$seed"} ${dict:+-x "$dict"} \
	-- "$harness" >/tmp/words 2>&1 </dev/null &
engine=$!

name_of() { sha256sum <"$1" | cut -c1-32; }

# AFL++ tells its figures once a minute, in a file; in between, the names of what it kept say how many executions it took.
tell() { # EVENT
	stats=$out/default/fuzzer_stats
	[ -s "$stats" ] || return 1
	edges=$(sed -n 's/^edges_found *: *\([0-9]*\).*/\1/p' "$stats")
	count=$(ls "$out/default/queue" | wc -l)
	execs=$({ sed -n 's/^execs_done *: *\([0-9]*\).*/\1/p' "$stats"; ls "$out/default/queue" "$out/default/crashes"; } |
		sed -n 's/^id:.*,execs:\([0-9]*\).*/\1/p; /^[0-9]*$/p' | sort -n | tail -n 1)
	printf '#%s\t%s cov: %s ft: %s corp: %s/1b exec/s: %s rss: 1Mb\n' "${execs:-0}" "$1" "${edges:-0}" "$count" "$count" \
		$((${execs:-0} / ($(date +%s) - started + 1))) >&2
}

take_crashes() {
	for file in "$out"/default/crashes/id:* "$out"/default/hangs/id:*; do
		[ -f "$file" ] || continue
		name=$(name_of "$file")
		[ ! -e "$crashes/$name.input" ] || continue
		case $file in
		*/hangs/*) echo 'ERROR: libFuzzer: timeout' >"$crashes/$name.txt" ;;
		*) ASAN_OPTIONS=$asan UBSAN_OPTIONS=$ubsan timeout 10 "$replay" "$file" >"$crashes/$name.txt" 2>&1 ;;
		esac
		cp "$file" "$crashes/$name.new" && mv "$crashes/$name.new" "$crashes/$name.input"
	done
}

take_corpus() {
	for file in "$out"/default/queue/id:*; do
		case $file in
		*,orig:*) continue ;;
		esac
		[ -f "$file" ] || continue
		[ "$file" \> "$last" ] || continue
		last=$file
		cp "$file" "$corpus/$(name_of "$file")" 2>/dev/null
	done
}

asan=detect_leaks=0:abort_on_error=0:symbolize=1 ubsan=print_stacktrace=1:halt_on_error=1:symbolize=1
last='' best=0 count=0 begun='' started=$(date +%s)
while kill -0 "$engine" 2>/dev/null; do
	sleep 0.5
	take_crashes
	take_corpus
	if [ -z "$begun" ]; then
		tell INITED && begun=1 best=$count
	elif [ "$(ls "$out/default/queue" | wc -l)" -gt "$best" ]; then
		best=$(ls "$out/default/queue" | wc -l)
		tell NEW
	else
		tell pulse
	fi
done
wait "$engine"
status=$?
take_crashes
take_corpus
if [ -n "$begun" ] || tell INITED; then
	tell DONE
	exit 0
fi
tail -n 20 /tmp/words >&2
[ $status -ne 0 ] || status=1
exit $status
