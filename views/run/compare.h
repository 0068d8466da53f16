// Two runs side by side: this machine's own, and reports that were shared.
#ifndef RB_VIEWS_RUN_COMPARE_H
#define RB_VIEWS_RUN_COMPARE_H

#include "base/errors/err.h"
#include "base/text/buf.h"

struct rb_run_ref {
    const char *from; // the folder of a shared report; NULL: a run of this machine
    const char *run;  // of this machine: as for rb_run_files_open
};

// Appends the rb-run-page/1 of one run. state_dir NULL: the user's own.
bool rb_run_ref_document(const char *state_dir, const struct rb_run_ref *ref, struct rb_buf *out, struct rb_err *err);
// Appends the rb-compare/1 of two.
bool rb_run_refs_compare(const char *state_dir, const struct rb_run_ref two[static 2], struct rb_buf *out,
                         struct rb_err *err);

// Prints the comparison: as tables, or as rb-compare/1. html: writes the page there, too; NULL: no page.
bool rb_run_refs_print(const char *state_dir, const struct rb_run_ref two[static 2], bool json, const char *html,
                       struct rb_err *err);

#endif
