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

void rb_listing_tell(struct rb_listing *l, const struct rb_err *err)
{
    l->fn(l->arg, err, l->instances, l->n, !err && l->complete);
}

bool rb_listing_goes_on(struct rb_listing *l, const char *call_name, struct rb_err *err)
{
    return ++l->n_pages < MAX_PAGES || rb_err_set(err, RB_E_ENDLESS, "%s: no end after %d pages", call_name, MAX_PAGES);
}
