// The runs of a state directory, and the reports in shared folders, as one list.
#ifndef RB_EXECUTOR_RUN_LIST_H
#define RB_EXECUTOR_RUN_LIST_H

#include "executor/browse/run_row.h"

struct rb_run_sources {
    const char *state_dir;      // NULL: the user's own
    bool without_own;           // only the folders
    const char *const *folders; // of shared reports (executor/report/shared_report.h), as given; [n_folders]
    int n_folders;
};

struct rb_run_list {
    struct rb_arena arena;
    struct rb_run_row *rows;
    struct rb_run_stamp *stamps; // [n], private
    int n;
};

// Reads all of them, newest first. A run that cannot be read is one of the rows, and says why. before: an earlier
// list of the same sources: rows whose files have not changed since are taken over from it; NULL: none. Finish *out
// with rb_run_list_finish, also after a failure; a zeroed list may be finished.
bool rb_run_list_read(const struct rb_run_sources *sources, const struct rb_run_list *before, struct rb_run_list *out,
                      struct rb_err *err);
void rb_run_list_finish(struct rb_run_list *l);
void rb_run_list_write(const struct rb_run_list *l, struct rb_json *j); // rb-runs/1

#endif
