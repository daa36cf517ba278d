/* Instead of libFuzzer, where a corpus is only replayed: any compiler links it. `replay_NAME FOLDER` calls the harness
 * with every file of the folder; the sanitizers end it where one does harm. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where nothing is behind it may be read, the sanitizer sees it. */
static void once(const char *path)
{
	struct stat st;
	FILE *file = fopen(path, "rbe");

	if (file == NULL || fstat(fileno(file), &st) < 0) {
		perror(path);
		exit(1);
	}
	size_t size = (size_t)st.st_size;
	own(freep) uint8_t *data = malloc(size);
	if (fread(data, 1, size, file) != size) {
		perror(path);
		exit(1);
	}
	(void)fclose(file);
	(void)fprintf(stderr, "%s\n", path);
	(void)LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	struct dirent **files;
	int count = argc == 2 ? scandir(argv[1], &files, NULL, alphasort) : -1, done = 0;

	for (int i = 0; i < count; i++) {
		own(freep) char *path = xfmt("%s/%s", argv[1], files[i]->d_name);
		if (files[i]->d_name[0] != '.') {
			once(path);
			done++;
		}
		free(files[i]);
	}
	if (count >= 0)
		free(files);
	(void)printf("%d inputs\n", done);
	return done > 0 ? 0 : 1;
}
