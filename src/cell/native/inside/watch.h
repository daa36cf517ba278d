/* What init measures with, from inside: opened before it gives its rights up. */
#ifndef HOTCELL_CELL_NATIVE_INSIDE_WATCH_H
#define HOTCELL_CELL_NATIVE_INSIDE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watch {
	int proc, loadavg, sockets; /* -1 without /proc */
	uint64_t peak; /* highest memory seen */
	uint64_t last; /* seen last */
};

/* memory: watch_memory will be called. sockets: sockstat of this network, if it is open already; else -1. */
void watch_open(struct watch *watch, bool proc, bool memory, int sockets);
uint64_t watch_processes(const struct watch *watch); /* tasks ever made in this pid namespace, init aside */
bool watch_net_clean(const struct watch *watch); /* no socket, not even a dying one, is left */
bool watch_disk_full(uint64_t *ret_written);
/* Memory of all processes and scratch files, shared pages counted once where it comes near `peak`. If their addresses go
 * beyond the limit, shared memory without a name counts with its size. */
uint64_t watch_memory(struct watch *watch, uint64_t limit);
/* How long it may be left alone: a program that takes a gigabyte a second must not pass the limit by much. */
int watch_pause_ms(const struct watch *watch, uint64_t limit);

#endif
