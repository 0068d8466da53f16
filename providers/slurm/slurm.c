// Slurm knows no idempotency token. So every job carries its launch's token in the comment, and before a job is
// submitted the cluster is asked whether there is one already; a submission itself is never tried twice.
#include "providers/slurm/slurm.h"

#include "base/arena.h"
#include "providers/slurm/slurm_client.h"
#include "providers/slurm/slurm_decode.h"
#include "providers/slurm/slurm_encode.h"
#include "providers/slurm/slurm_errors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_TRIES = 3, END_TRIES = 3 };

struct slurm {
    const struct rb_loop *loop;
    struct rb_slurm_client *client;
    struct rb_slurm_spec spec;
    struct launch *queued; // wait for the next lookup
    struct lookup *lookup; // under way; NULL: none
    uint64_t timer;        // 0: no lookup is about to begin
};

struct launch {
    struct rb_arena arena;
    struct launch *next;
    struct slurm *slurm;
    struct rb_launch what;
    struct rb_slurm_shape shape;
    struct rb_err err; // refused; code NONE: not yet
    int64_t job;
    rb_launch_fn *fn;
    void *arg;
};

// One listing serves all launches that asked before it went out.
struct lookup {
    struct rb_arena arena;
    struct slurm *slurm;
    struct launch *launches;
    struct rb_slurm_jobs jobs;
};

struct listing {
    struct rb_arena arena;
    struct slurm *slurm;
    const char *run_id; // NULL: any
    struct rb_slurm_jobs jobs;
    rb_list_fn *fn;
    void *arg;
};

struct ending {
    int64_t job;
    rb_terminate_fn *fn;
    void *arg;
};

static void write_list(void *arg, int api, struct rb_buf *path, struct rb_buf *body)
{
    (void)arg, (void)api, (void)body;
    rb_buf_puts(path, "/jobs");
}

static void send_jobs(const struct slurm *s, void *arg, bool (*decode)(void *, const struct rb_node *, struct rb_err *),
                      void (*done)(void *, const struct rb_err *, int), void (*drop)(void *))
{
    rb_slurm_send(s->client, &(struct rb_slurm_request){.name = "jobs",
                                                        .method = "GET",
                                                        .max_tries = READ_TRIES,
                                                        .arg = arg,
                                                        .write = write_list,
                                                        .decode = decode,
                                                        .done = done,
                                                        .drop = drop});
}

// --- launch

static void launch_answer(struct launch *l, const struct rb_err *err, const struct rb_instance *instance)
{
    l->fn(l->arg, err, instance);
    rb_api_state_free(l);
}

static void write_end_of_launch(void *arg, int api, struct rb_buf *path, struct rb_buf *body)
{
    (void)api, (void)body;
    const struct launch *l = arg;
    rb_buf_printf(path, "/job/%" PRId64, l->job);
}

static void refused_and_ended(void *arg, const struct rb_err *err, int slurm_error)
{
    struct launch *l = arg;
    if (err && slurm_error != RB_SLURM_ALREADY_DONE && err->code != RB_ERR_NOT_FOUND) {
        rb_err_renumber(&l->err, RB_E_OUTCOME_UNKNOWN);
        rb_err_prefix(&l->err, "job %" PRId64 " may still wait (%.200s)", l->job, err->message);
    }
    launch_answer(l, &l->err, NULL);
}

// Slurm reports an error but queues the job nevertheless: it would start later, when no run waits for it.
static void end_refused(struct launch *l)
{
    rb_slurm_send(l->slurm->client, &(struct rb_slurm_request){.name = "cancel",
                                                               .method = "DELETE",
                                                               .mutating = true,
                                                               .max_tries = END_TRIES,
                                                               .arg = l,
                                                               .write = write_end_of_launch,
                                                               .done = refused_and_ended,
                                                               .drop = rb_api_state_free});
}

static void write_submission(void *arg, int api, struct rb_buf *path, struct rb_buf *body)
{
    struct launch *l = arg;
    rb_buf_puts(path, "/job/submit");
    rb_slurm_write_submission(&l->what, &l->shape, &l->slurm->spec, api, body);
}

static bool decode_submission(void *arg, const struct rb_node *answer, struct rb_err *err)
{
    struct launch *l = arg;
    return rb_slurm_decode_submission(answer, &l->job, err);
}

static void submitted(void *arg, const struct rb_err *err, int slurm_error)
{
    (void)slurm_error;
    struct launch *l = arg;
    if (err && l->job > 0) {
        l->err = *err;
        end_refused(l);
        return;
    }
    if (err) {
        launch_answer(l, err, NULL);
        return;
    }
    const struct rb_instance made = {
        .id = rb_arena_printf(&l->arena, "%" PRId64, l->job),
        .state = RB_INSTANCE_PENDING,
        .instance_type = l->what.instance_type,
        .region = l->what.region,
        .market = RB_MARKET_ON_DEMAND,
        .token = l->what.token,
        .run_id = l->what.tags.run_id,
        .launch_id = l->what.tags.launch_id,
        .owner = l->what.tags.owner,
        .running_at_us = -1,
        .terminated_at_us = -1,
    };
    launch_answer(l, NULL, &made);
}

static void submit(struct launch *l)
{
    rb_slurm_send(l->slurm->client, &(struct rb_slurm_request){.name = "submit",
                                                               .method = "POST",
                                                               .mutating = true,
                                                               .max_tries = 1, // no answer: looked up first
                                                               .arg = l,
                                                               .write = write_submission,
                                                               .decode = decode_submission,
                                                               .done = submitted,
                                                               .drop = rb_api_state_free});
}

// --- lookup

static void destroy_launches(struct launch *first)
{
    for (struct launch *next; first; first = next) {
        next = first->next;
        rb_api_state_free(first);
    }
}

static void lookup_destroy(void *arg)
{
    struct lookup *u = arg;
    destroy_launches(u->launches);
    rb_api_state_free(u);
}

static bool decode_lookup(void *arg, const struct rb_node *answer, struct rb_err *err)
{
    struct lookup *u = arg;
    return rb_slurm_decode_jobs(answer, rb_slurm_client_user(u->slurm->client), &u->arena, &u->jobs, err);
}

static const struct rb_instance *find_token(const struct rb_slurm_jobs *jobs, const char *token)
{
    for (int i = 0; i < jobs->n; i++)
        if (jobs->instances[i].token && strcmp(jobs->instances[i].token, token) == 0)
            return &jobs->instances[i];
    return NULL;
}

static void lookup_soon(struct slurm *s);

static void looked_up(void *arg, const struct rb_err *err, int slurm_error)
{
    (void)slurm_error;
    struct lookup *u = arg;
    u->slurm->lookup = NULL;
    if (u->slurm->queued)
        lookup_soon(u->slurm);
    while (u->launches) {
        struct launch *l = u->launches;
        u->launches = l->next;
        const struct rb_instance *known = err ? NULL : find_token(&u->jobs, l->what.token);
        if (err || known)
            launch_answer(l, err, known);
        else
            submit(l);
    }
    lookup_destroy(u);
}

static void look_up(struct slurm *s, struct launch *launches)
{
    struct lookup *u = rb_api_state_create(sizeof *u);
    u->slurm = s;
    u->launches = launches;
    s->lookup = u;
    send_jobs(s, u, decode_lookup, looked_up, lookup_destroy);
}

static void begin_lookup(void *arg)
{
    struct slurm *s = arg;
    struct launch *all = s->queued, *good = NULL;
    s->timer = 0;
    if (s->lookup)
        return;
    s->queued = NULL;
    while (all) {
        struct launch *l = all;
        all = l->next;
        if (l->err.code) {
            launch_answer(l, &l->err, NULL);
        } else {
            l->next = good;
            good = l;
        }
    }
    if (good)
        look_up(s, good);
}

static void lookup_soon(struct slurm *s)
{
    if (!s->timer)
        s->timer = s->loop->timer_start(s->loop->ctx, 0, begin_lookup, s);
}

static bool check_launch(struct launch *l, struct rb_err *err)
{
    if (l->what.market == RB_MARKET_SPOT)
        return rb_err_set(err, RB_E_SLURM_LAUNCH, "slurm: allocations are not sold as spot; use market on_demand");
    if (rb_launch_count(&l->what) > 1)
        return rb_err_set(err, RB_E_SLURM_LAUNCH, "slurm: an allocation is one node; asked for %d at once",
                          l->what.count);
    if (!l->slurm->spec.shared_dir || !l->what.user_data)
        return rb_err_set(err, RB_E_SLURM_LAUNCH,
                          "slurm: expected resources.slurm.shared_dir and a script for the node");
    return rb_slurm_shape(l->what.instance_type, &l->shape, err);
}

static void slurm_launch(struct rb_provider *p, const struct rb_launch *what, rb_launch_fn *fn, void *arg)
{
    struct slurm *s = p->state;
    struct launch *l = rb_api_state_create(sizeof *l);
    l->slurm = s;
    rb_launch_copy(&l->arena, what, &l->what);
    l->fn = fn;
    l->arg = arg;
    check_launch(l, &l->err);
    l->next = s->queued;
    s->queued = l;
    if (!s->lookup)
        lookup_soon(s);
}

// --- list

static bool decode_listing(void *arg, const struct rb_node *answer, struct rb_err *err)
{
    struct listing *l = arg;
    return rb_slurm_decode_jobs(answer, rb_slurm_client_user(l->slurm->client), &l->arena, &l->jobs, err);
}

static bool is_asked_for(const struct listing *l, const struct rb_instance *i)
{
    return l->run_id ? i->run_id && strcmp(i->run_id, l->run_id) == 0 : i->owner != NULL;
}

static void listed(void *arg, const struct rb_err *err, int slurm_error)
{
    (void)slurm_error;
    struct listing *l = arg;
    int n = 0;
    for (int i = 0; !err && i < l->jobs.n; i++)
        if (is_asked_for(l, &l->jobs.instances[i]))
            l->jobs.instances[n++] = l->jobs.instances[i];
    l->fn(l->arg, err, l->jobs.instances, n, !err);
    rb_api_state_free(l);
}

static void slurm_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    struct slurm *s = p->state;
    struct listing *l = rb_api_state_create(sizeof *l);
    l->slurm = s;
    l->run_id = run_id ? rb_arena_strdup(&l->arena, run_id) : NULL;
    l->fn = fn;
    l->arg = arg;
    send_jobs(s, l, decode_listing, listed, rb_api_state_free);
}

// --- terminate

static void write_ending(void *arg, int api, struct rb_buf *path, struct rb_buf *body)
{
    (void)api, (void)body;
    const struct ending *e = arg;
    rb_buf_printf(path, "/job/%" PRId64, e->job);
}

static void ended(void *arg, const struct rb_err *err, int slurm_error)
{
    const struct ending e = *(struct ending *)arg;
    free(arg);
    e.fn(e.arg, slurm_error == RB_SLURM_ALREADY_DONE ? NULL : err);
}

static void slurm_terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    const struct slurm *s = p->state;
    struct ending *e = rb_xcalloc(1, sizeof *e);
    e->job = strtoll(id, NULL, 10); // an id that is no number of ours becomes one that Slurm does not know
    e->fn = fn;
    e->arg = arg;
    rb_slurm_send(s->client, &(struct rb_slurm_request){.name = "cancel",
                                                        .method = "DELETE",
                                                        .mutating = true,
                                                        .max_tries = END_TRIES,
                                                        .arg = e,
                                                        .write = write_ending,
                                                        .done = ended,
                                                        .drop = free});
}

// --- life

static int64_t slurm_credentials_end_us(const struct rb_provider *p)
{
    const struct slurm *s = p->state;
    return rb_slurm_client_ends_us(s->client);
}

// An allocation is other people's waiting time, wherever slurmrestd listens.
static bool slurm_is_harmless(const char *region)
{
    (void)region;
    return false;
}

static void slurm_destroy(struct rb_provider *p)
{
    struct slurm *s = p->state;
    if (!s)
        return;
    if (s->timer)
        s->loop->timer_cancel(s->loop->ctx, s->timer);
    rb_slurm_client_destroy(s->client);
    destroy_launches(s->queued);
    free(s);
    p->state = NULL;
}

static bool slurm_create(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err)
{
    if (!config->http)
        return rb_err_set(err, RB_E_HTTP_REQUEST, "slurm: needs an HTTP client");
    struct slurm *s = rb_xcalloc(1, sizeof *s);
    s->loop = config->loop;
    if (config->resources)
        s->spec = config->resources->slurm;
    const struct rb_slurm_client_config client = {
        .loop = config->loop,
        .http = config->http,
        .url = s->spec.url,
    };
    if (!rb_slurm_client_create(&client, &s->client, err)) {
        free(s);
        return false;
    }
    *out = (struct rb_provider){.ops = &rb_provider_slurm, .state = s};
    return true;
}

const struct rb_provider_ops rb_provider_slurm = {
    .name = "slurm",
    .summary = "Slurm, through slurmrestd",
    .transport = "slurm",
    .keeps_lifetimes = true,
    .waits_in_queue = true,
    .create = slurm_create,
    .destroy = slurm_destroy,
    .launch = slurm_launch,
    .list = slurm_list,
    .terminate = slurm_terminate,
    .credentials_end_us = slurm_credentials_end_us,
    .is_harmless = slurm_is_harmless,
};
