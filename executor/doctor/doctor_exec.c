// rbrun doctor --exec: starts one pod, as a run would, and measures a command in it. What was started is found by its tags
// and ended, whatever happened; if this process is killed, the pod ends itself and `rbrun gc` finds it.
#include "executor/doctor/doctor.h"

#include "base/clock.h"
#include "executor/controller/lease.h"
#include "executor/controller/spend.h"
#include "executor/transport/process.h"
#include "executor/transport/ssh_command.h"
#include "executor/transport/transport.h"
#include "profiles/catalog/billing.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    N_COMMANDS = 5,
    HARD_LIMIT_MIN = 15, // the pod's own end, if it is not ended before
    UNREACHED = 255,     // of a command: the pod could not be reached
};
static const int64_t look_us = 500000;                 // between two listings
static const int64_t first_word_us = 30 * RB_US_PER_S; // from a running container to a command in it
static const int64_t patience_us =
    5 * 60 * RB_US_PER_S; // for the pod's end: its grace is at most an hour, usually 30 s

struct probe {
    struct rb_doctor *doctor;
    const char *infra;
    int offer;
    const struct rb_transport *transport;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_http *http;
    struct rb_provider provider;
    struct rb_launcher_config way;
    char run_dir[64], run_id[32], address[160];
    bool interrupted, answered, runs, sold_out;
    int n_there, n_ended; // instances that were listed last; of them
    char ids[4][160];     // of those that are there
    char groups[4][160];
    int n_groups;
    int64_t running_us, ended_us; // by the cluster's clock; -1: unknown
    int code;
    char said[256], why[300]; // by the command; the first thing that went wrong, "": nothing
};

// --- one step after the other: the loop runs until it is answered

static void await(struct probe *t)
{
    rb_loop_uv_run(t->uv);
}

static void answer(struct probe *t, const struct rb_err *err)
{
    if (err && !t->why[0])
        snprintf(t->why, sizeof t->why, "%.290s", err->message);
    t->answered = !err;
    rb_loop_uv_stop(t->uv);
}

static void woken(void *arg)
{
    rb_loop_uv_stop(((struct probe *)arg)->uv);
}

static void rest(struct probe *t)
{
    t->loop->timer_start(t->loop->ctx, look_us, woken, t);
    await(t);
}

// The step that is under way ends first: what it starts must be ended, too.
static void interrupt(void *arg)
{
    ((struct probe *)arg)->interrupted = true;
}

// --- the cloud

static void launched(void *arg, const struct rb_err *err, const struct rb_instance *instances)
{
    (void)instances; // listings show it
    answer(arg, err);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct probe *t = arg;
    t->n_there = t->n_ended = 0;
    t->runs = false;
    for (int i = 0; !err && i < n; i++) {
        const struct rb_instance *node = &instances[i];
        const bool ended = node->state == RB_INSTANCE_TERMINATED;
        t->n_ended += ended;
        t->runs |= node->state == RB_INSTANCE_RUNNING;
        if (!ended && t->n_there < 4)
            snprintf(t->ids[t->n_there++], sizeof t->ids[0], "%s", node->id);
        if (node->address)
            snprintf(t->address, sizeof t->address, "%s", node->address);
        t->running_us = node->running_at_us >= 0 ? node->running_at_us : t->running_us;
        t->ended_us = node->terminated_at_us >= 0 ? node->terminated_at_us : t->ended_us;
        if ((node->fault || ended) && !t->why[0])
            snprintf(t->why, sizeof t->why, "%.290s",
                     node->fault          ? node->fault->message
                     : node->state_reason ? node->state_reason
                                          : "it ended");
    }
    if (!err && !complete && n == 0)
        t->n_there = -1; // nothing is known
    answer(t, err);
}

static void list(struct probe *t)
{
    t->provider.ops->list(&t->provider, t->run_id, listed, t);
    await(t);
}

static void ended(void *arg, const struct rb_err *err)
{
    answer(arg, err && err->code == RB_ERR_NOT_FOUND ? NULL : err);
}

static void grouped(void *arg, const struct rb_err *err, const struct rb_placement_group *groups, int n)
{
    struct probe *t = arg;
    t->n_groups = 0;
    for (int i = 0; !err && i < n && t->n_groups < 4; i++)
        snprintf(t->groups[t->n_groups++], sizeof t->groups[0], "%s", groups[i].name);
    answer(t, err);
}

static bool launch(struct probe *t)
{
    const struct rb_plan *plan = t->doctor->plan;
    const struct rb_offer *offer = &plan->offers[t->offer];
    const struct rb_birth birth = {
        .job = plan->job, .run_id = t->run_id, .run_dir = t->run_dir, .hard_limit_min = HARD_LIMIT_MIN};
    RB_AUTO(rb_buf_finish) struct rb_buf user_data = RB_BUF_INIT;
    char host_key[128], owner[160], expires[32], token[33];
    uint8_t bytes[16];
    struct rb_err err;
    if (!t->transport->make_user_data(&birth, &user_data, host_key, &err)) {
        answer(t, &err);
        return false;
    }
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, token);
    rb_run_owner(owner, sizeof owner);
    rb_lease_format(rb_clock_unix_us() + HARD_LIMIT_MIN * 60 * RB_US_PER_S, expires);
    const struct rb_infra_place place = rb_infra_place(t->infra);
    struct rb_launch launch = {
        .token = token,
        .region = place.region,
        .instance_type = offer->instance_type,
        .gpus = offer->accelerator && rb_accelerator_is_cpu(offer->accelerator) ? 0 : offer->gpus,
        .market = offer->market,
        .image_id = rb_image_for(plan->images, plan->n_images, t->infra),
        .user_data = rb_buf_str(&user_data),
        .max_lifetime_s = HARD_LIMIT_MIN * 60,
        .tags = {.name = t->run_id, .run_id = t->run_id, .launch_id = token, .owner = owner, .expires_at = expires},
    };
    rb_launch_take(&launch, &plan->job->resources);
    t->provider.ops->launch(&t->provider, &launch, launched, t);
    await(t);
    return t->answered;
}

// Its queue_timeout ends the wait, a fault of the image does, and so does Ctrl-C.
static bool await_running(struct probe *t)
{
    while (!t->interrupted && !t->why[0]) {
        list(t);
        if (t->runs && t->address[0])
            return true;
        rest(t);
    }
    if (!t->why[0])
        snprintf(t->why, sizeof t->why, "interrupted");
    return false;
}

// --- commands

static void exited(void *arg, int code, const char *stderr_tail)
{
    struct probe *t = arg;
    t->code = code;
    snprintf(t->said, sizeof t->said, "%s", stderr_tail);
    rb_loop_uv_stop(t->uv);
}

// One command; -1: it did not succeed.
static int64_t measure_once(struct probe *t, struct rb_arena *arena)
{
    const struct rb_launch_node node = {.infra = t->infra, .instance_id = t->address, .address = t->address};
    struct rb_process_options options = rb_process_defaults();
    struct rb_process *process;
    struct rb_err err;
    options.argv = t->transport->argv(&t->way, &node, "true", arena);
    options.exited = exited;
    options.arg = t;
    const int64_t began_us = rb_clock_monotonic_us();
    if (!rb_process_spawn(t->loop, &options, &process, &err)) {
        answer(t, &err);
        t->code = -1;
        return -1;
    }
    await(t);
    return t->code == 0 ? rb_clock_monotonic_us() - began_us : -1;
}

// A container that runs may still refuse the first command.
static bool measure(struct probe *t, int64_t *out_fastest_us, int64_t *out_slowest_us)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const int64_t until_us = rb_clock_monotonic_us() + first_word_us;
    int64_t us = measure_once(t, &arena);
    while (t->code == UNREACHED && !t->interrupted && rb_clock_monotonic_us() < until_us) {
        rest(t);
        us = measure_once(t, &arena);
    }
    *out_fastest_us = *out_slowest_us = us;
    for (int i = 1; i < N_COMMANDS && us >= 0 && !t->interrupted; i++) {
        us = measure_once(t, &arena);
        *out_fastest_us = us < *out_fastest_us ? us : *out_fastest_us;
        *out_slowest_us = us > *out_slowest_us ? us : *out_slowest_us;
    }
    if (us < 0 && !t->why[0])
        snprintf(t->why, sizeof t->why, "`true` in %.100s ended with %d: %.150s", t->address, t->code, t->said);
    return us >= 0;
}

// --- the end

static bool is_over(const struct probe *t)
{
    return t->answered && t->n_there == 0;
}

// What carries our tag, whether the launch was answered or not.
static bool clean_up(struct probe *t)
{
    char why[sizeof t->why];
    memcpy(why, t->why, sizeof why);
    const int64_t until_us = rb_clock_monotonic_us() + patience_us;
    list(t);
    while (!is_over(t) && rb_clock_monotonic_us() < until_us) {
        for (int i = 0; i < t->n_there; i++) {
            t->provider.ops->terminate(&t->provider, t->ids[i], ended, t);
            await(t);
        }
        rest(t);
        list(t);
    }
    bool clean = is_over(t);
    t->provider.ops->groups(&t->provider, t->run_id, grouped, t);
    await(t);
    clean &= t->answered;
    for (int i = 0, n = t->n_groups; i < n; i++) {
        t->provider.ops->end_group(&t->provider, t->groups[i], ended, t);
        await(t);
        clean &= t->answered;
    }
    memcpy(t->why, why, sizeof why);
    return clean;
}

// "the pod ran for 4 s, which is worth $0.0003"
static void describe_cost(const struct probe *t, char out[static 120])
{
    struct rb_billing billing;
    char took[32], cost[32];
    const int64_t clock_us = t->provider.ops->clock_us(&t->provider),
                  end_us = t->ended_us >= 0 ? t->ended_us : clock_us;
    const int64_t us = t->running_us >= 0 && end_us > t->running_us ? end_us - t->running_us : 0;
    const bool priced = rb_spend_billing(t->doctor->plan, t->offer, &billing, NULL);
    const struct rb_bill bill = priced ? rb_bill_node(&billing, us > 0 ? 0 : -1, us) : (struct rb_bill){0};
    snprintf(out, 120, "the pod had its machine for %s%s%s", rb_format_duration(us, took),
             priced ? ", which is worth " : "", priced ? rb_format_money(bill.total_uusd, cost) : "");
}

static void report(struct probe *t, bool measured, int64_t fastest_us, int64_t slowest_us, bool clean)
{
    char fastest[32], slowest[32], cost[120];
    struct rb_finding *f;
    describe_cost(t, cost);
    if (measured)
        f = rb_doctor_find(t->doctor, "exec", t->infra, RB_VERDICT_OK,
                           "a command in %.100s takes %s, at most %s of %d; %s", t->address,
                           rb_format_duration(fastest_us, fastest), rb_format_duration(slowest_us, slowest), N_COMMANDS,
                           cost);
    else
        f = rb_doctor_find(t->doctor, "exec", t->infra, RB_VERDICT_FAIL, "%s; %s", t->why, cost);
    if (clean)
        return;
    f->verdict = RB_VERDICT_FAIL;
    snprintf(f->remedy, sizeof f->remedy,
             "what was started may still be there: rbrun gc --infra %.60s --older-than 0s; the pod ends itself within "
             "%d minutes",
             t->infra, HARD_LIMIT_MIN);
}

static bool open_way(struct probe *t, struct rb_err *err)
{
    const struct rb_plan *plan = t->doctor->plan;
    const struct rb_provider_config config = {.loop = t->loop, .http = t->http, .resources = &plan->job->resources};
    const char *base = getenv("TMPDIR");
    snprintf(t->run_dir, sizeof t->run_dir, "%.30s/rb-doctor-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(t->run_dir))
        return rb_err_set(err, RB_E_FILE_WRITE, "cannot make the folder %s", t->run_dir);
    t->way = (struct rb_launcher_config){
        .loop = t->loop, .job = plan->job, .run_id = t->run_id, .run_dir = t->run_dir, .transport = t->transport};
    return rb_infra_open(t->infra, &config, &t->provider, err) &&
           (!t->transport->open || t->transport->open(&t->way, err));
}

static void close_way(struct probe *t)
{
    if (t->way.way && t->transport->close)
        t->transport->close(&t->way);
    if (t->provider.state)
        t->provider.ops->destroy(&t->provider);
    rb_http_destroy(t->http);
    rb_loop_uv_destroy(t->uv);
    rb_ssh_leave_control_dir(t->run_dir);
    rmdir(t->run_dir);
}

static void try_infra(struct rb_doctor *d, const char *infra, int offer, const struct rb_provider_ops *ops)
{
    struct probe t = {.doctor = d,
                      .infra = infra,
                      .offer = offer,
                      .transport = rb_transport_find(ops->transport),
                      .uv = rb_loop_uv_create(),
                      .running_us = -1,
                      .ended_us = -1};
    struct rb_err err;
    uint8_t bytes[4];
    int64_t fastest_us = -1, slowest_us = -1;
    char hex[9];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, hex);
    snprintf(t.run_id, sizeof t.run_id, "doctor-%s", hex);
    t.loop = rb_loop_uv_loop(t.uv);
    rb_loop_uv_on_interrupt(t.uv, interrupt, &t);
    if (!rb_http_create(t.loop, &t.http, &err) || !open_way(&t, &err)) {
        rb_doctor_find(d, "exec", infra, RB_VERDICT_FAIL, "%s", err.message);
    } else {
        const bool measured = launch(&t) && await_running(&t) && measure(&t, &fastest_us, &slowest_us);
        const bool clean = clean_up(&t);
        report(&t, measured, fastest_us, slowest_us, clean);
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
