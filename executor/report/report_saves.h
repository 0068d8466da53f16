// How much of each start was saved by its midway checkpoints: the work until then is not lost with the start.
#ifndef RB_EXECUTOR_REPORT_SAVES_H
#define RB_EXECUTOR_REPORT_SAVES_H

#include "executor/journal/journal.h"

// Sets kept_us of the starts, which come in the journal's order: when what their last midway checkpoint holds was reported.
bool rb_report_saves(struct rb_journal *j, struct rb_task_row *tasks, int n_tasks, struct rb_err *err);

#endif
