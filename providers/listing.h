// A listing on its way: instances gathered page by page, told once, whole or as far as it came.
#ifndef RB_PROVIDERS_LISTING_H
#define RB_PROVIDERS_LISTING_H

#include "providers/provider.h"

struct rb_listing {
    struct rb_arena arena; // of all pages
    const char *run_id;    // NULL: any
    struct rb_instance *instances;
    int n, n_pages;
    bool complete; // so far
    rb_list_fn *fn;
    void *arg;
};

void rb_listing_init(struct rb_listing *l, const char *run_id, rb_list_fn *fn, void *arg); // copies the run's id
void rb_listing_finish(struct rb_listing *l);
void rb_listing_add(struct rb_listing *l, const struct rb_instance *page, int n, bool complete);
// After each page. failed: it did not come. True: `next` (NULL: there is none) is to be asked for, which is not without end.
// False: all is told; what was read before a failure, too, but as incomplete: absence proves nothing then.
bool rb_listing_turn(struct rb_listing *l, const char *call_name, const struct rb_err *failed, const char *next);

#endif
