// Shares a run's report: as an rb-run-page/1 and a page in a folder that others read. The journal stays here.
#ifndef RB_VIEWS_RUN_SHARE_H
#define RB_VIEWS_RUN_SHARE_H

#include "executor/journal/run_files.h"

// *out_events: the number of events of the journal that the report has at least.
bool rb_run_share(const struct rb_run_files *f, const char *folder, int64_t *out_events, struct rb_err *err);

#endif
