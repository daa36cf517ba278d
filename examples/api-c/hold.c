/* hold COMMAND...: runs a command in a cell and says what came of it.
 *
 *	cc hold.c -o hold $(pkg-config --cflags --libs libhotcell) && ./hold sh -c 'cat /etc/shadow; unshare -r id' */
#include <hotcell.h>
#include <stdio.h>

static void tell(const struct hotcell_cell *cell)
{
	(void)fwrite(cell->out, 1, cell->out_len, stdout);
	(void)fwrite(cell->err, 1, cell->err_len, stdout);
	printf("-- %s, ", cell->outcome_name);
	if (cell->signal)
		printf("signal %d", cell->signal);
	else
		printf("exit code %d", cell->exit_code);
	printf(", after %.1f ms; refused %llu system call%s\n", cell->wall_ms, (unsigned long long)cell->refused,
		cell->refused == 1 ? "" : "s");
	if (cell->error)
		printf("-- %s\n", cell->error);
	for (size_t i = 0; i < cell->gap_count; i++)
		printf("-- not in full: %s is %s: %s\n", cell->gaps[i].protection, cell->gaps[i].state, cell->gaps[i].note);
}

int main(int argc, char **argv)
{
	struct hotcell_error error;
	struct hotcell *hotcell = hotcell_open(&error);
	struct hotcell_job *job = hotcell ? hotcell_job_open(hotcell, HOTCELL_RUN, &error) : NULL;
	struct hotcell_result *result = NULL;
	int wrong =
		!job || hotcell_job_set(job, "memory", "64M", &error) < 0 || hotcell_job_set(job, "timeout", "5s", &error) < 0;

	for (int i = 1; !wrong && i < argc; i++)
		wrong = hotcell_job_add(job, argv[i], &error) < 0;
	if (!wrong)
		result = hotcell_job_run(job, &error);
	if (result)
		tell(hotcell_result_cell(result));
	else
		fprintf(stderr, "hold: %s\n", error.text);
	hotcell_result_free(result);
	hotcell_job_free(job);
	hotcell_close(hotcell);
	return result ? 0 : 1;
}
