/* A static program loads nothing.
 *
 * SQLite can load extensions, so its archive calls dlopen. It is never told to (see harden in
 * campaign/ledger/open.c), and it could not well be: in a static program dlopen works only with the very
 * libc it was built with, of which the linker warns. The build therefore turns these four names
 * into ours (--wrap), which refuse, so that not even a planted call gets at the loader. Defining
 * dlopen itself would not do: the C library brings its own along for other uses, and the warning
 * with it. Sanitized builds are dynamic and do without this. */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);
void *__wrap_dlsym(void *handle, const char *name);
int __wrap_dlclose(void *handle);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

int __wrap_dlclose(void *handle)
{
	(void)handle;
	return -1;
}

char *__wrap_dlerror(void)
{
	static char text[] = "this program loads nothing";

	return text;
}
