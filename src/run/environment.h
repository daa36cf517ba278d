/* Our own environment, which must not show what a user keeps there. */
#ifndef HOTCELL_RUN_ENVIRONMENT_H
#define HOTCELL_RUN_ENVIRONMENT_H

/* Copies the environment to the heap and wipes the block the kernel shows in /proc/PID/environ.
 * getenv works on as before. Once, first thing in main. */
void environment_hide(void);
/* Drops and wipes all but the names we need ourselves (PATH, HOME, TERM, HOTCELL_*, ...). */
void environment_forget(void);

#endif
