/* The attacks of files.c that take more than one run, or observers of their own. Seen only inside src/review. */
#ifndef HOTCELL_REVIEW_FILES_H
#define HOTCELL_REVIEW_FILES_H

#include "review/attack.h"

/* files_runs.c: several runs each */
void files_workdir(struct review_try *try);
void files_target_links(struct review_try *try);
void files_image_links(struct review_try *try);
void files_image_devices(struct review_try *try);
void files_fake_proc(struct review_try *try);
void files_swapped(struct review_try *try);
void files_run_from(struct review_try *try);
void files_hidden(struct review_try *try);
void files_state(struct review_try *try);
void files_state_made(struct review_try *try);
void files_handles(struct review_try *try);
void files_uncover(struct review_try *try);

/* files_scripts.c: what a user's own code would try */
extern const char files_shell[], files_python[];
extern const char files_forbidden[];
void files_forbidden_before(struct review_try *try);
void files_shell_before(struct review_try *try);
void files_python_before(struct review_try *try);

/* files_seen.c: observers */
void files_mounts_during(struct review_try *try); /* the cell's mounts, as the host sees them; then lets it go on */
void files_knobs_during(struct review_try *try);
void files_set_id_during(struct review_try *try);
void files_shared_during(struct review_try *try);
void files_ambush_during(struct review_try *try);
void files_fifo_during(struct review_try *try); /* makes {shown}/late, and listens */
void files_leases_during(struct review_try *try); /* opens {shown}/file to write to it, without waiting */
void files_looked(struct review_try *try); /* try_failed, if none of these was called */
void files_go_on(struct review_try *try); /* programs wait for {shown}/go */

#endif
