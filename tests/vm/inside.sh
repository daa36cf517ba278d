#!/bin/sh
# Runs in the virtual machine as its first program: a machine with cgroup v2 alone. Prints one line a
# check, "ok NAME" or "not ok NAME: what was seen", and ends with "done".
export PATH=/usr/bin HOTCELL=/usr/bin/hotcell

check() { # name, expected (glob), seen
	case "$3" in
	$2) echo "ok $1" ;;
	*) echo "not ok $1: $3" ;;
	esac
}

state() { # the state of one protection, from a result on stdin
	sed -n 's/.*"'"$1"'":{"state":"\([a-z]*\)","note":"\([^"]*\)".*/\1 \2/p'
}

outcome() {
	sed -n 's/^{"outcome":"\([a-z-]*\)".*/\1/p'
}


scope() { # name: a cgroup with all controllers
	echo "+memory +cpu +pids" > /sys/fs/cgroup/cgroup.subtree_control
	mkdir -p "/sys/fs/cgroup/$1"
}

in_scope() { # scope uid command-string
	sh -c 'echo $$ > /sys/fs/cgroup/'"$1"'/cgroup.procs; exec su -s /bin/sh '"$2"' -c "exec $0"' "$3" 2>/tmp/err
}

echo
scope root1
seen=$(in_scope root1 root "$HOTCELL run --json -q -- true")
check "root on v2: memory is limited by the cgroup" "on cgroup v2" "$(echo "$seen" | state memory-limit)"
check "root on v2: cpu is limited by the cgroup" "on cgroup v2" "$(echo "$seen" | state cpu-limit)"
check "root on v2: processes are limited by the cgroup" "on cgroup v2" "$(echo "$seen" | state process-limit)"
check "root on v2: the receipt is full" '*"full":true*' "$seen"
seen=$(in_scope root1 root "$HOTCELL run --json -q -m 32M -- dd if=/dev/zero of=/dev/null bs=64M count=1")
check "root on v2: a memory bomb ends as oom" oom "$(echo "$seen" | outcome)"
seen=$(in_scope root1 root "$HOTCELL run --json -q -p 5 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 1 & done; wait'")
check "root on v2: a fork bomb is held" '*"processes":[1-6],*' "$seen"
seen=$(in_scope root1 root "$HOTCELL run --json -q -- sh -c 'trap \"\" CHLD; (i=0; while [ \$i -lt 60000 ]; do i=\$((i+1)); done) & sleep 3'")
check "root on v2: the time of children nobody waited for is counted" 1 \
	"$(echo "$seen" | sed -n 's/.*"user_ms":\([0-9]*\).*/\1/p' | awk '{ print ($1 > 100) }')"
check "root on v2: nothing is left of the cgroups" "" "$(ls -d /sys/fs/cgroup/root1/*/ 2>/dev/null)"

most=$(cat /proc/sys/user/max_user_namespaces)
echo 0 > /proc/sys/user/max_user_namespaces
seen=$(in_scope root1 root "$HOTCELL run --json -q -- true")
check "root without user namespaces: a cell is made all the same" exited "$(echo "$seen" | outcome)"
check "root without user namespaces: and it says so" "off *" "$(echo "$seen" | state user-namespace)"
check "root without user namespaces: nothing is left of the cgroups" "" "$(ls -d /sys/fs/cgroup/root1/*/ 2>/dev/null)"
echo "$most" > /proc/sys/user/max_user_namespaces

scope shared
sleep 100 &
echo $! > /sys/fs/cgroup/shared/cgroup.procs
seen=$(in_scope shared root "$HOTCELL run --json -q -- true")
check "root beside other processes: weaker, and it says so" "weaker *" "$(echo "$seen" | state memory-limit)"

scope user1
chown -R 1000:1000 /sys/fs/cgroup/user1
seen=$(in_scope user1 cell "$HOTCELL run --json -q -- true")
check "a user with a delegated cgroup: memory is limited by it" "on cgroup v2" "$(echo "$seen" | state memory-limit)"
check "a user with a delegated cgroup: the receipt is full" '*"full":true*' "$seen"
seen=$(in_scope user1 cell "$HOTCELL run --json -q -m 32M -- dd if=/dev/zero of=/dev/null bs=64M count=1")
check "a user with a delegated cgroup: a memory bomb ends as oom" oom "$(echo "$seen" | outcome)"
check "a user with a delegated cgroup: nothing is left" "" "$(ls -d /sys/fs/cgroup/user1/*/ 2>/dev/null)"

scope user2
seen=$(in_scope user2 cell "$HOTCELL run --json -q -- true")
check "a user without a delegated cgroup: watched, and it says so" "weaker watched*" "$(echo "$seen" | state memory-limit)"
seen=$(in_scope user2 cell "$HOTCELL run --json -q -m 32M -- dd if=/dev/zero of=/dev/null bs=64M count=1")
check "a user without a delegated cgroup: a memory bomb ends as oom" oom "$(echo "$seen" | outcome)"

# an older kernel's times are coarse: that a cell touched its scratch space must be seen by other means too
for who in root cell; do
	scope "traces-$who"
	[ $who = root ] || chown -R 1000:1000 "/sys/fs/cgroup/traces-$who"
	mkdir -m 777 "/tmp/$who"
	seen=$(in_scope "traces-$who" $who "sh -c 'cd /tmp/$who; $HOTCELL campaign run --plain --runs 70 -- sh -c \"exec traces run \\\$HOTCELL_RUN\"; echo code \$?; cat fuzz/runs/*/stdout.log'")
	check "$who: no cell finds a trace of an earlier one in its slot" "*70 succeeded*code 0" "$seen"
done

# a crash in a cell is nothing for the machine's own handler, which is root's and outside of every cell
printf '#!/bin/sh\n/usr/bin/cat >/dev/null; : >/tmp/taken\n' > /usr/bin/taker
chmod 755 /usr/bin/taker
echo '|/usr/bin/taker' > /proc/sys/kernel/core_pattern
crash='kill -SEGV $$'
taken() { [ -e /tmp/taken ] && echo taken || echo not taken; rm -f /tmp/taken; }
sh -c "$crash" 2>/dev/null
for wait in 1 2 3 4 5 6 7 8 9 10; do [ -e /tmp/taken ] || sleep 1; done
check "a crash outside of cells is taken by the machine's handler" taken "$(taken)"
for before in true 'ulimit -Sc 0' 'ulimit -c 0'; do
	seen=$($HOTCELL run --json -q -- sh -c "$before; $crash" | outcome); sleep 1
	check "a crash in a cell is not, after '$before'" "signaled not taken" "$seen $(taken)"
done
echo core > /proc/sys/kernel/core_pattern

# the review's own eyes on v2: limits are broken, and the counters of the cell's cgroup tell
scope review
seen=$(in_scope review root "sh -c 'cd /tmp; $HOTCELL review --only exhaustion.forks --only exhaustion.memory --only exhaustion.memory-family --only exhaustion.cpu-threads --only exhaustion.fork-bomb; echo code \$?'")
check "a review on v2: counters of its cgroups tell what was held" "*5 held*code 0*" "$seen"

echo done
poweroff -f
