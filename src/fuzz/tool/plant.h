/* Between plant.c (files, environment) and plant_words.c (pure: what leads to them). */
#ifndef HOTCELL_FUZZ_TOOL_PLANT_H
#define HOTCELL_FUZZ_TOOL_PLANT_H

#include "cell/cell.h"
#include "finding/finding.h"

/* Spellings of a path of the cell that a program may take for something else; `all`: every one that is known, else
 * the best. */
void words_path(struct strings *words, const char *path, bool all);
/* The path, begun with a folder that it may have been allowed. */
void words_below(struct strings *words, const char *folder, const char *path);
/* The variable's name, and what stands for its value in templates and shells. */
void words_variable(struct strings *words, const char *name);
/* What makes a file /tmp/MARK, or shows the mark in a program's arguments, where it reaches a shell or another
 * program's words. */
void words_commands(struct strings *words, const char *mark);

#endif
