#include "providers/listing.h"

#include <stdlib.h>

enum { MAX_PAGES = 1000 };

void rb_listing_init(struct rb_listing *l, const char *run_id, rb_list_fn *fn, void *arg)
{
    *l = (struct rb_listing){.complete = true, .fn = fn, .arg = arg};
    l->run_id = run_id ? rb_arena_strdup(&l->arena, run_id) : NULL;
}

void rb_listing_finish(struct rb_listing *l)
{
    rb_arena_finish(&l->arena);
    free(l->instances);
}

void rb_listing_add(struct rb_listing *l, const struct rb_instance *page, int n, bool complete)
{
    l->instances = rb_xrealloc(l->instances, (size_t)(l->n + n) + 1, sizeof *l->instances);
    for (int i = 0; i < n; i++)
        l->instances[l->n++] = page[i];
    l->complete = l->complete && complete;
}

bool rb_listing_turn(struct rb_listing *l, const char *call_name, const struct rb_err *failed, const char *next)
{
    struct rb_err endless;
    if (!failed && next) {
        if (++l->n_pages < MAX_PAGES)
            return true;
        rb_err_set(&endless, RB_E_ENDLESS, "%s: no end after %d pages", call_name, MAX_PAGES);
        failed = &endless;
    }
    l->fn(l->arg, failed, l->instances, l->n, !failed && l->complete);
    return false;
}
