/* Where our own cgroups are, from what the kernel writes in /proc. Pure: text in, paths out. */
#ifndef HOTCELL_CELL_NATIVE_SUPERVISOR_CGROUP_PATHS_H
#define HOTCELL_CELL_NATIVE_SUPERVISOR_CGROUP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

enum controller { MEMORY, CPU, PIDS, CONTROLLER_COUNT };
extern const char *const controller_name[CONTROLLER_COUNT];

/* Absolute folders of our own cgroup, without a '/' at the end. NULL: not mounted, or mounted so
 * that it does not show us. */
struct cgroup_paths {
	char *v1[CONTROLLER_COUNT];
	char *v2;
};
/* The texts of /proc/self/cgroup and /proc/self/mountinfo. */
void cgroup_paths_find(struct cgroup_paths *ret, const char *self_cgroup, const char *mountinfo);
void cgroup_paths_read(
	struct cgroup_paths *ret); /* of this process; what cannot be read is not there */
void cgroup_paths_done(struct cgroup_paths *paths);

/* Whether a list such as "cpu,cpuacct" or "cpu memory pids\n" has this very word. */
bool cgroup_list_has(const char *list, const char *word);
/* The number on the line "KEY number", or with key NULL the one the text begins with; else 0. */
uint64_t cgroup_number(const char *text, const char *key);

#endif
