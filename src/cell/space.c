/* Spaces: file systems with a size, for what several cells write to and we look at. */
#include <stdlib.h>
#include <sys/statvfs.h>

#include "cell/backend.h"

struct cell_space *cell_space_open(struct cell_pool *pool, uint64_t bytes, uint64_t files, struct err *err)
{
	static uint64_t last;
	const struct cell_backend *backend;
	struct cell_backend_pool *backend_pool = cell_pool_backend(pool, &backend);

	if (!backend->space_open) {
		(void)err_set(err, ERR_MISSING, "the backend '%s' has no file systems with a size", backend->name);
		return NULL;
	}
	struct cell_space *space = xcalloc(1, sizeof(*space));
	*space = (struct cell_space){.pool = pool, .id = ++last, .view = -1, .top = -1};
	if (backend->space_open(backend_pool, bytes, files, space, err) == 0)
		return space;
	return cell_space_free(space);
}

struct cell_space *cell_space_free(struct cell_space *space)
{
	const struct cell_backend *backend;

	if (!space)
		return NULL;
	struct cell_backend_pool *pool = cell_pool_backend(space->pool, &backend);
	backend->space_close(pool, space);
	fd_close(&space->view);
	fd_close(&space->top);
	free(space);
	return NULL;
}

int cell_space_top(const struct cell_space *space)
{
	return space->top;
}

bool cell_space_left(const struct cell_space *space, uint64_t *ret_bytes, uint64_t *ret_files)
{
	struct statvfs fs;

	if (fstatvfs(space->top, &fs) < 0)
		return false;
	*ret_bytes = (uint64_t)fs.f_bfree * fs.f_frsize;
	*ret_files = (uint64_t)fs.f_ffree;
	return true;
}
