#include "base/weaken.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* First the protections of a receipt, then parts of them. */
const char *const weaken_names[] = {
	"user-namespace", "pid-namespace", "mount-namespace", "net-namespace", "ipc-namespace", "uts-namespace",
	"cgroup-namespace", "read-only-root", "private-tmp", "private-proc", "hidden-files", "non-root", "no-capabilities",
	"no-new-privileges", "seccomp", "landlock", "memory-limit", "cpu-limit", "process-limit", "disk-limit", "file-limits",
	"output-limit", "wall-clock", "clean-descriptors", "clean-environment", "own-session", "kill-all",

	"mount-nosuid", "mount-nodev", "mounts-read-only", "tmp-noexec", "tmp-size", "shm-size", "corpus-size", "core-limit",
	"proc-read-only", "proc-covers", "forbidden", "mount-links", "init-hidden", "state-guard", "state-record",
	"collect-links", "collect-kinds", "collect-names", "collect-sparse", "collect-caps", "output-folder",
	"terminal-filter", "page-escapes",
	"seccomp-namespaces", "seccomp-mounts", "seccomp-handles", "seccomp-setid", "seccomp-io-uring", "seccomp-bpf",
	"seccomp-keys", "seccomp-sockets", "seccomp-foreign", "seccomp-unknown", "seccomp-tiocsti", "seccomp-ptrace", "seccomp-leases",
	"door-rules", "door-names", "door-addresses", "door-sni", "door-syntax", "door-one-request",
	"door-heads", "door-deadlines", "door-scrub", "door-even", "door-budget",
	"runtime-folder", "control-peer", "per-user-limits",
	NULL,
};

static char left_out[sizeof("HOTCELL_WEAKEN=") + 64];
#define NAME_AT (sizeof("HOTCELL_WEAKEN=") - 1)

bool weaken_known(const char *name)
{
	for (const char *const *known = weaken_names; *known; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

/* Before main: processes forked from this one have lost the environment. */
__attribute__((constructor)) static void weaken_read(void)
{
	const char *name = getenv("HOTCELL_WEAKEN");

	if (!name || !*name)
		return;
	if (!weaken_known(name)) {
		(void)fprintf(stderr, "hotcell: HOTCELL_WEAKEN: there is no '%s'\n", name);
		_exit(2);
	}
	(void)snprintf(left_out, sizeof(left_out), "HOTCELL_WEAKEN=%s", name);
}

bool weakened(const char *name)
{
	assert(weaken_known(name));
	return left_out[0] && strcmp(left_out + NAME_AT, name) == 0;
}

const char *weaken_variable(void)
{
	return left_out[0] ? left_out : NULL;
}
