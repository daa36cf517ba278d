/* A lock file of a stranger's: what comes out of it is a name below a cache, and leads nowhere else. */
#include <assert.h>
#include <string.h>

#include "fuzz/function/lang/lock.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(void *data, const struct lock_entry *entry)
{
	(void)data;
	assert(*entry->name && *entry->version && strlen(entry->name) <= 600 && strlen(entry->version) <= 600);
	assert(*entry->name != '/' && *entry->name != '.' && !strstr(entry->name, "/.") && !strstr(entry->name, "//"));
	assert(!strchr(entry->version, '/') && *entry->version != '.');
	assert(strlen(entry->sum) == 0 || strlen(entry->sum) == 47 || strlen(entry->sum) == 64);
	for (const char *at = entry->name; *at; at++)
		assert(*at > ' ' && *at < 127);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	lock_read_go_sum((const char *)data, size, check, NULL);
	lock_read_cargo((const char *)data, size, check, NULL);
	return 0;
}
