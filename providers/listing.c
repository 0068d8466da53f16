#include "providers/listing.h"

#include <stdlib.h>

enum { MAX_PAGES = 1000, LIST_TRIES = 3 };

struct listing {
    struct rb_arena arena; // of all pages
    const struct rb_list_source *source;
    void *cloud;
    const char *run_id;           // NULL: any
    struct rb_instance_page page; // read last
    struct rb_instance *instances;
    int n, n_pages;
    bool incomplete;
    rb_list_fn *fn;
    void *arg;
};

static void destroy(void *arg)
{
    struct listing *l = arg;
    free(l->instances);
    rb_api_state_free(l);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct listing *l = arg;
    return l->source->decode(l->cloud, l->run_id, body, n, &l->arena, &l->page, err);
}

static void add_page(struct listing *l)
{
    l->instances = rb_xrealloc(l->instances, (size_t)(l->n + l->page.n) + 1, sizeof *l->instances);
    for (int i = 0; i < l->page.n; i++)
        l->instances[l->n++] = l->page.instances[i];
    l->incomplete = l->incomplete || !l->page.complete;
}

static void ask(struct listing *l);

static void page_known(void *arg, const struct rb_err *failed)
{
    struct listing *l = arg;
    struct rb_err endless;
    if (!failed)
        add_page(l);
    if (!failed && l->page.next_page) {
        if (++l->n_pages < MAX_PAGES) {
            ask(l);
            return;
        }
        rb_err_set(&endless, RB_E_ENDLESS, "%s: no end after %d pages", l->source->call_name, MAX_PAGES);
        failed = &endless;
    }
    l->fn(l->arg, failed, l->instances, l->n, !failed && !l->incomplete);
    destroy(l);
}

static void ask(struct listing *l)
{
    struct rb_api_call call = rb_api_call_new(l->source->call_name, LIST_TRIES, l, decode, page_known);
    call.drop = destroy;
    l->source->send(l->cloud, l->run_id, l->page.next_page, &call);
}

void rb_list_instances(const struct rb_list_source *source, void *cloud, const char *run_id, rb_list_fn *fn, void *arg)
{
    struct listing *l = rb_api_state_create(sizeof *l);
    l->source = source;
    l->cloud = cloud;
    l->run_id = run_id ? rb_arena_strdup(&l->arena, run_id) : NULL;
    l->fn = fn;
    l->arg = arg;
    ask(l);
}

// --- reservations

struct reservations {
    struct rb_arena arena; // of all pages
    const struct rb_reservation_source *source;
    void *cloud;
    struct rb_reservation_page page; // read last
    struct rb_reservation *all;      // [n]
    int n, n_pages;
    rb_reservations_fn *fn;
    void *arg;
};

static void destroy_reservations(void *arg)
{
    struct reservations *l = arg;
    free(l->all);
    rb_api_state_free(l);
}

static bool decode_reservations(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct reservations *l = arg;
    return l->source->decode(l->cloud, body, n, &l->arena, &l->page, err);
}

static void ask_reservations(struct reservations *l);

static void reservations_known(void *arg, const struct rb_err *failed)
{
    struct reservations *l = arg;
    struct rb_err why;
    const bool goes_on = !failed && l->page.next_page;
    if (!failed && l->page.incomplete) {
        rb_err_set(&why, RB_E_RESERVATIONS_UNSEEN, "%s: a part of the cloud did not answer: ask again", l->source->call_name);
        failed = &why;
    } else if (goes_on && l->n_pages + 1 >= MAX_PAGES) {
        rb_err_set(&why, RB_E_ENDLESS, "%s: no end after %d pages", l->source->call_name, MAX_PAGES);
        failed = &why;
    }
    if (!failed) {
        l->all = rb_xrealloc(l->all, (size_t)(l->n + l->page.n) + 1, sizeof *l->all);
        for (int i = 0; i < l->page.n; i++)
            l->all[l->n++] = l->page.reservations[i];
    }
    if (!failed && goes_on) {
        l->n_pages++;
        ask_reservations(l);
        return;
    }
    l->fn(l->arg, failed, l->all, failed ? 0 : l->n);
    destroy_reservations(l);
}

static void ask_reservations(struct reservations *l)
{
    struct rb_api_call call =
        rb_api_call_new(l->source->call_name, LIST_TRIES, l, decode_reservations, reservations_known);
    call.drop = destroy_reservations;
    l->source->send(l->cloud, l->page.next_page, &call);
}

void rb_list_reservations(const struct rb_reservation_source *source, void *cloud, rb_reservations_fn *fn, void *arg)
{
    struct reservations *l = rb_api_state_create(sizeof *l);
    l->source = source;
    l->cloud = cloud;
    l->fn = fn;
    l->arg = arg;
    ask_reservations(l);
}

// --- leases

struct rb_renewal *rb_renewal_create(const char *const *ids, int n, const struct rb_tag *lease, const char *right,
                                     rb_terminate_fn *fn, void *arg)
{
    struct rb_renewal *r = rb_api_state_create(sizeof *r);
    r->ids = rb_arena_array(&r->arena, (size_t)n, sizeof *r->ids);
    for (r->n = 0; r->n < n; r->n++)
        r->ids[r->n] = rb_arena_strdup(&r->arena, ids[r->n]);
    r->lease = (struct rb_tag){rb_arena_strdup(&r->arena, lease->key), rb_arena_strdup(&r->arena, lease->value)};
    r->right = right;
    r->fn = fn;
    r->arg = arg;
    return r;
}

void rb_renewal_note(struct rb_renewal *r, const struct rb_err *err)
{
    if (!err || err->code == RB_ERR_NOT_FOUND || r->err.code != RB_ERR_NONE)
        return;
    r->err = *err;
    if (err->code == RB_ERR_DENIED)
        rb_err_set(&r->err, RB_E_PERMISSION, "%s; allow %s", err->message, r->right);
}

void rb_renewal_close(struct rb_renewal *r, bool dropped)
{
    if (--r->n_open > 0)
        return;
    if (!dropped)
        r->fn(r->arg, r->err.code ? &r->err : NULL);
    rb_api_state_free(r);
}
