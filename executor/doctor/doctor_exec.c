// rbrun doctor --exec: starts one pod, as a run would, and measures a command in it. What was started is found by its tags
// and ended, whatever happened; if this process is killed, the pod ends itself and `rbrun gc` finds it.
#include "executor/doctor/doctor.h"

#include "base/clock.h"
#include "executor/controller/spend.h"
#include "executor/gc/groups.h"
#include "executor/journal/run_files.h"
#include "executor/pool/node_pool.h"
#include "executor/transport/process.h"
#include "executor/transport/ssh_command.h"
#include "profiles/catalog/billing.h"
#include "profiles/catalog/infra.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    N_COMMANDS = 5,
    HARD_LIMIT_MIN = 15, // the pod's own end, if it is not ended before
    UNREACHED = 255,     // of a command: the pod could not be reached
};
static const int64_t look_us = 1500000;                // between two listings: those at the pod's end take five minutes
static const int64_t pause_us = 500000;                // between two tries of the first command
static const int64_t first_word_us = 30 * RB_US_PER_S; // from a running container to a command in it

// A pool of one pod. What a pool asks of a launcher, it answers itself: there is nothing to bring to the pod.
struct probe {
    struct rb_launcher launcher;
    struct rb_doctor *doctor;
    const char *infra;
    int offer;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_http *http;
    struct rb_provider provider;
    struct rb_launcher_config way;
    struct rb_job job; // with the plan's images
    struct rb_birth birth;
    struct rb_pool *pool;
    struct rb_launch_node node; // once it runs
    struct rb_process *process; // NULL: none
    char run_dir[64], run_id[32], owner[160];
    int n_done;
    int64_t began_us, until_us; // of the command that runs; when the first counts as lost
    int64_t fastest_us, slowest_us, gone_us;
    bool over, left; // no more commands; the pod may still be there
    char why[300];   // the first thing that went wrong, "": nothing
};

static int64_t now_us(const struct probe *t)
{
    return t->loop->now_us(t->loop->ctx);
}

static void end(struct probe *t, const char *why)
{
    if (!t->over)
        snprintf(t->why, sizeof t->why, "%.290s", why);
    t->over = true;
    rb_pool_end(t->pool);
}

static void interrupt(void *arg)
{
    end(arg, "interrupted");
}

// --- commands

static void try_command(void *arg);

static void count(struct probe *t, int64_t us)
{
    t->fastest_us = t->n_done == 0 || us < t->fastest_us ? us : t->fastest_us;
    t->slowest_us = us > t->slowest_us ? us : t->slowest_us;
    if (++t->n_done == N_COMMANDS)
        rb_pool_prepared(t->pool, 0, NULL);
    else
        try_command(t);
}

// A container that runs may still refuse the first command.
static void exited(void *arg, int code, const char *stderr_tail)
{
    struct probe *t = arg;
    struct rb_err err = {0};
    t->process = NULL;
    if (t->over)
        return;
    if (code == 0) {
        count(t, now_us(t) - t->began_us);
    } else if (code == UNREACHED && t->n_done == 0 && now_us(t) < t->until_us) {
        t->loop->timer_start(t->loop->ctx, pause_us, try_command, t);
    } else {
        rb_err_set(&err, RB_E_NODE_NOT_READY, "`true` in %.100s ended with %d: %.150s", t->node.address, code, stderr_tail);
        rb_pool_prepared(t->pool, 0, &err);
    }
}

static void try_command(void *arg)
{
    struct probe *t = arg;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_process_options options = rb_process_defaults();
    struct rb_err err;
    if (t->over)
        return;
    options.argv = t->way.transport->argv(&t->way, &t->node, "true", &arena);
    options.exited = exited;
    options.arg = t;
    t->began_us = now_us(t);
    if (!rb_process_spawn(t->loop, &options, &t->process, &err))
        rb_pool_prepared(t->pool, 0, &err);
}

static void prepare(struct rb_launcher *l, const struct rb_launch_node *node)
{
    struct probe *t = (struct probe *)l; // its first member
    t->node = *node;
    t->until_us = now_us(t) + first_word_us;
    try_command(t);
}

static void forget(struct rb_launcher *l, int node)
{
    (void)l, (void)node;
}

static const struct rb_launcher_ops probe_ops = {.prepare = prepare, .forget = forget};

// --- the pool

static void ready(void *ctx, int node, const struct rb_err *err)
{
    (void)node;
    end(ctx, err ? err->message : "");
}

static void gone(void *ctx, const struct rb_err *err)
{
    struct probe *t = ctx;
    t->left = err != NULL;
    t->gone_us = now_us(t);
    rb_loop_uv_stop(t->uv);
}

static bool start(struct probe *t, struct rb_err *err)
{
    const struct rb_plan *plan = t->doctor->plan;
    t->birth = (struct rb_birth){
        .job = &t->job, .run_id = t->run_id, .run_dir = t->run_dir, .hard_limit_min = HARD_LIMIT_MIN};
    t->pool = rb_pool_create(&(struct rb_pool_config){
        .loop = t->loop,
        .provider = &t->provider,
        .infra = t->infra,
        .offer = &plan->offers[t->offer],
        .job = &t->job,
        .run_id = t->run_id,
        .owner = t->owner,
        .poll_us = look_us,
        .boot_timeout_us = INT64_MAX, // its queue_timeout ends the wait, a fault of the image does, and so does Ctrl-C
        .transport = t->way.transport,
        .birth = &t->birth,
        .n_nodes = 1,
        .ready = ready,
        .gone = gone,
        .ctx = t,
    });
    rb_loop_uv_on_interrupt(t->uv, interrupt, t);
    return rb_pool_start(t->pool, &t->launcher, err);
}

// "the pod had its machine for 4 s, which is worth $0.0003"
static void describe_cost(const struct probe *t, char out[static 120])
{
    struct rb_billing billing;
    char took[32], cost[32];
    const int64_t running_us = rb_pool_node(t->pool, 0)->running_us;
    const int64_t us = running_us >= 0 && t->gone_us > running_us ? t->gone_us - running_us : 0;
    const bool priced = rb_spend_billing(t->doctor->plan, t->offer, &billing, NULL);
    const struct rb_bill bill = priced ? rb_bill_node(&billing, us > 0 ? 0 : -1, us) : (struct rb_bill){0};
    snprintf(out, 120, "the pod had its machine for %s%s%s", rb_format_duration(us, took),
             priced ? ", which is worth " : "", priced ? rb_format_money(bill.total_uusd, cost) : "");
}

static void report(struct probe *t)
{
    char fastest[32], slowest[32], cost[120];
    struct rb_finding *f;
    describe_cost(t, cost);
    if (t->why[0])
        f = rb_doctor_find(t->doctor, "exec", t->infra, RB_VERDICT_FAIL, "%s; %s", t->why, cost);
    else
        f = rb_doctor_find(t->doctor, "exec", t->infra, RB_VERDICT_OK,
                           "a command in %.100s takes %s, at most %s of %d; %s", t->node.address,
                           rb_format_duration(t->fastest_us, fastest), rb_format_duration(t->slowest_us, slowest),
                           N_COMMANDS, cost);
    if (!t->left)
        return;
    f->verdict = RB_VERDICT_FAIL;
    snprintf(f->remedy, sizeof f->remedy,
             "what was started may still be there: rbrun gc --infra %.60s --older-than 0s; the pod ends itself within "
             "%d minutes",
             t->infra, HARD_LIMIT_MIN);
}

static bool open_way(struct probe *t, const struct rb_provider_ops *ops, struct rb_err *err)
{
    const struct rb_provider_config config = {.loop = t->loop, .http = t->http, .resources = &t->job.resources};
    const char *base = getenv("TMPDIR");
    snprintf(t->run_dir, sizeof t->run_dir, "%.30s/rb-doctor-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(t->run_dir))
        return rb_err_set(err, RB_E_FILE_WRITE, "cannot make the folder %s", t->run_dir);
    t->way = (struct rb_launcher_config){.loop = t->loop,
                                         .job = &t->job,
                                         .run_id = t->run_id,
                                         .run_dir = t->run_dir,
                                         .transport = rb_transport_find(ops->transport)};
    return rb_infra_open(t->infra, &config, &t->provider, err) &&
           (!t->way.transport->open || t->way.transport->open(&t->way, err));
}

static void close_way(struct probe *t)
{
    rb_process_abandon(t->process);
    rb_pool_destroy(t->pool);
    if (t->way.way && t->way.transport->close)
        t->way.transport->close(&t->way);
    if (t->provider.state)
        t->provider.ops->destroy(&t->provider);
    rb_http_destroy(t->http);
    rb_loop_uv_destroy(t->uv);
    rb_ssh_leave_control_dir(t->run_dir);
    rmdir(t->run_dir);
}

static void try_infra(struct rb_doctor *d, const char *infra, int offer, const struct rb_provider_ops *ops)
{
    struct probe t = {.launcher = {&probe_ops},
                      .doctor = d,
                      .infra = infra,
                      .offer = offer,
                      .uv = rb_loop_uv_create(),
                      .job = *d->plan->job};
    struct rb_err err;
    uint8_t bytes[4];
    char hex[9];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, hex);
    snprintf(t.run_id, sizeof t.run_id, "doctor-%s", hex);
    rb_run_owner(t.owner, sizeof t.owner);
    t.job.resources.image_ids = d->plan->images;
    t.job.resources.n_image_ids = d->plan->n_images;
    t.loop = rb_loop_uv_loop(t.uv);
    if (!rb_http_create(t.loop, &t.http, &err) || !open_way(&t, ops, &err) || !start(&t, &err)) {
        rb_doctor_find(d, "exec", infra, RB_VERDICT_FAIL, "%s", err.message);
    } else {
        rb_loop_uv_run(t.uv);
        rb_run_groups_delete(&(struct rb_run_groups){
            .uv = t.uv, .providers = &t.provider, .infras = &infra, .n = 1, .run_id = t.run_id});
        report(&t);
    }
    close_way(&t);
}

// --- where

// The cheapest machine of the plan there; -1: none.
static int choose_offer(const struct rb_plan *plan, const char *infra)
{
    int best = -1;
    for (int i = 0; i < plan->n_offers; i++)
        if (rb_infra_within(plan->offers[i].infra, infra) && !plan->offers[i].reservation &&
            (best < 0 || plan->offers[i].rate.uusd_per_hour < plan->offers[best].rate.uusd_per_hour))
            best = i;
    return best;
}

// One that would be refused is not asked for.
static bool is_refused(const struct rb_doctor *d, const char *infra)
{
    for (int i = 0; i < d->n_findings; i++)
        if (d->findings[i].verdict == RB_VERDICT_FAIL && strstr(d->findings[i].subject, infra))
            return true;
    return false;
}

void rb_doctor_exec(struct rb_doctor *d)
{
    int n = 0;
    for (int i = 0; d->plan && i < d->n_infras; i++) {
        const struct rb_provider_ops *ops;
        char region[64];
        if (!rb_provider_find(d->infras[i], &ops, region, NULL) || !ops->transport ||
            strcmp(ops->transport, "k8s") != 0)
            continue;
        const int offer = choose_offer(d->plan, d->infras[i]);
        if (offer < 0)
            continue;
        n++;
        if (is_refused(d, d->infras[i]))
            rb_doctor_find(d, "exec", d->infras[i], RB_VERDICT_WARN, "not tried: correct what fails above first");
        else
            try_infra(d, d->infras[i], offer, ops);
    }
    if (n == 0)
        snprintf(rb_doctor_find(d, "exec", "", RB_VERDICT_WARN,
                                "not tried: no plan with nodes in a cluster of Kubernetes was given")
                     ->remedy,
                 256, "run: rbrun doctor --exec plan.json");
}
