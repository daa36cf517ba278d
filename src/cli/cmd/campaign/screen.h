/* What a supervisor shows of its campaign: a live view on a terminal, plain lines elsewhere. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_SCREEN_H
#define HOTCELL_CLI_CMD_CAMPAIGN_SCREEN_H

#include "base/loop.h"
#include "campaign/campaign.h"

struct screen;

/* `live`: redraw in place, if stdout is a terminal. `quiet`: only the last lines. */
struct screen *screen_open(struct loop *loop, bool live, bool quiet);
struct screen *screen_free(struct screen *screen); /* gives the cursor back; NULL is fine */
void screen_watch(struct screen *screen, struct campaign *campaign); /* from here on it draws it */

void screen_started(struct screen *screen, const char *session);
void screen_ended(struct screen *screen, const char *session, const struct run_record *run);
void screen_said(struct screen *screen, const char *text);
void screen_resized(struct screen *screen);
void screen_suspend(struct screen *screen); /* Ctrl-Z: stops this process with the cursor given back */
/* The last picture and the summary. `shown` is the folder of the sessions as people know it. */
void screen_end(struct screen *screen, const char *shown);

#endif
