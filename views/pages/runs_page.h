// Many runs as a page: the figures of all, and a table with a row for each that leads to its own page. The page's
// script filters the rows and chooses two to compare.
#ifndef RB_VIEWS_RUNS_PAGE_H
#define RB_VIEWS_RUNS_PAGE_H

#include "executor/browse/run_list.h"
#include "views/pages/page.h"

// addresses: where each row leads, relative to the page; NULL, or an entry that is NULL: nowhere. live: the page asks
// for newer lists.
void rb_runs_page_write(const struct rb_run_list *list, const char *const *addresses, bool live,
                        struct rb_buf *out_page);
bool rb_runs_page_live(const struct rb_run_list *list, const char *const *addresses, struct rb_buf *out_data,
                       struct rb_err *err); // rb-live/1

#endif
