#include "executor/notify/notify.h"

#include "base/arena.h"
#include "executor/journal/outbox.h"
#include "executor/notify/hook.h"
#include "executor/notify/notice.h"
#include "profiles/job/job_notify.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_US     (5 * RB_US_PER_S) // after the first failure
#define MOST_RETRY   (RB_S_PER_HOUR * RB_US_PER_S)
#define LIFE_US      (24 * RB_S_PER_HOUR * RB_US_PER_S)
#define COLLECT_US   (60 * RB_US_PER_S) // losses of nodes

// The delivery to one hook.
struct receiver {
    struct rb_notify *n;
    int index; // of the job's hooks
    struct rb_hook *hook;
    uint64_t timer;      // until its next turn; 0: it is at work, or there is nothing to send
    bool busy, refuses;
    bool warned;         // of failures since it last took a notice
    int failures;        // since then
    bool is_late;        // its next turn comes after the end of the drain
    struct { // on its way
        int64_t seq, due_unix_us;
    } notice;
    char why[300];       // of the last failure
};

struct rb_notify {
    struct rb_notify_config config;
    struct rb_http *http; // NULL: there is no webhook
    struct receiver *receivers; // [job->hooks.n]
    int64_t retry_us;
    bool lost_journal;
    uint64_t wake_timer;
    struct { // under way while done is set
        int64_t until_us;
        void (*done)(void *ctx);
        void *ctx;
        uint64_t timer;
    } drain;
};

static void next(struct receiver *r);

static int64_t unix_us(const struct rb_notify *n)
{
    return n->config.loop->unix_us(n->config.loop->ctx);
}

static int64_t now_us(const struct rb_notify *n)
{
    return n->config.loop->now_us(n->config.loop->ctx);
}

static int n_receivers(const struct rb_notify *n)
{
    return n->config.job->hooks.n;
}

static const struct rb_hook_spec *spec_of(const struct receiver *r)
{
    return &r->n->config.job->hooks.items[r->index];
}

static uint64_t arm(struct rb_notify *n, int64_t delay_us, rb_loop_fn *fn, void *arg)
{
    return n->config.loop->timer_start(n->config.loop->ctx, delay_us > 0 ? delay_us : 0, fn, arg);
}

static void disarm(struct rb_notify *n, uint64_t *timer)
{
    if (*timer)
        n->config.loop->timer_cancel(n->config.loop->ctx, *timer);
    *timer = 0;
}

// A journal that takes no more writes keeps what is open; the run itself finds out by its own next write.
static bool wrote(struct rb_notify *n, bool ok)
{
    n->lost_journal = n->lost_journal || !ok;
    return ok;
}

// ---- the end

static void end_drain(void *arg)
{
    struct rb_notify *n = arg;
    void (*done)(void *ctx) = n->drain.done;
    n->drain.timer = 0;
    n->drain.done = NULL;
    if (done)
        done(n->drain.ctx);
}

static void end_drain_if_over(struct rb_notify *n)
{
    bool waits = false;
    for (int i = 0; i < n_receivers(n); i++)
        waits = waits || n->receivers[i].busy || (n->receivers[i].timer && !n->receivers[i].is_late);
    if (!n->drain.done || waits)
        return;
    disarm(n, &n->drain.timer);
    n->drain.timer = arm(n, 0, end_drain, n);
}

// ---- one hook

static void warn(struct receiver *r, const char *then)
{
    char name[120], text[600];
    rb_hook_name(spec_of(r), name);
    snprintf(text, sizeof text, "notify[%d] (%s): %s: %s", r->index, name, r->why, then);
    r->n->config.warn(r->n->config.ctx, text);
}

static void take_turn(void *arg)
{
    struct receiver *r = arg;
    r->timer = 0;
    next(r);
}

static void wait_for_turn(struct receiver *r, int64_t delay_us)
{
    r->is_late = r->n->drain.done && now_us(r->n) + delay_us >= r->n->drain.until_us;
    r->timer = arm(r->n, delay_us, take_turn, r);
}

static int64_t retry_delay_us(const struct receiver *r, int64_t wait_us)
{
    int64_t delay_us = r->n->retry_us;
    for (int i = 1; i < r->failures && delay_us < MOST_RETRY; i++)
        delay_us *= 2;
    if (wait_us > delay_us)
        delay_us = wait_us;
    return delay_us < MOST_RETRY ? delay_us : MOST_RETRY;
}

static bool settle(struct receiver *r, int64_t seq, enum rb_delivery how)
{
    struct rb_err err;
    return wrote(r->n, rb_outbox_settle(r->n->config.journal, r->index, seq, how, &err));
}

static void failed(struct receiver *r, int64_t wait_us)
{
    r->failures++;
    if (unix_us(r->n) - r->notice.due_unix_us >= LIFE_US) {
        warn(r, "a notice is given up after 24 hours");
        if (settle(r, r->notice.seq, RB_DELIVERY_GIVEN_UP))
            next(r);
        return;
    }
    if (!r->warned)
        warn(r, "tried again, for 24 hours");
    r->warned = true;
    wait_for_turn(r, retry_delay_us(r, wait_us));
}

static void answered(void *ctx, enum rb_hook_answer answer, const char *why, int64_t wait_us)
{
    struct receiver *r = ctx;
    r->busy = false;
    snprintf(r->why, sizeof r->why, "%s", why);
    switch (answer) {
    case RB_HOOK_TAKEN:
        r->failures = 0;
        r->warned = false;
        if (settle(r, r->notice.seq, RB_DELIVERY_DONE))
            next(r);
        break;
    case RB_HOOK_GONE:
        r->refuses = true;
        warn(r, "it wants no more notices, and gets none");
        settle(r, 0, RB_DELIVERY_REFUSED);
        break;
    case RB_HOOK_FAILED:
        failed(r, wait_us);
        break;
    }
    end_drain_if_over(r->n);
}

static void send(struct receiver *r, const struct rb_outbox_notice *notice)
{
    char id[160];
    rb_notice_id(r->n->config.run_id, notice->seq, id);
    r->notice.seq = notice->seq;
    r->notice.due_unix_us = notice->due_unix_us;
    r->busy = true;
    rb_hook_send(r->hook, id, notice->kind, notice->body, answered, r);
}

static void next(struct receiver *r)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_outbox_notice notice;
    struct rb_err err;
    struct rb_notify *n = r->n;
    if (r->busy || r->refuses || r->timer || n->lost_journal)
        return;
    if (!wrote(n, rb_outbox_first_open(n->config.journal, r->index, unix_us(n), &arena, &notice, &err)))
        return;
    if (notice.seq > 0)
        send(r, &notice);
    else if (notice.due_unix_us >= 0)
        wait_for_turn(r, notice.due_unix_us - unix_us(n));
}

static void wake(void *arg)
{
    struct rb_notify *n = arg;
    n->wake_timer = 0;
    for (int i = 0; i < n_receivers(n); i++) {
        struct receiver *r = &n->receivers[i];
        if (r->failures == 0) // else its turn comes by itself
            disarm(n, &r->timer);
        next(r);
    }
    end_drain_if_over(n);
}

static void wake_soon(struct rb_notify *n)
{
    if (!n->wake_timer)
        n->wake_timer = arm(n, 0, wake, n);
}

// ---- notices

// Losses that a notice not yet due already counts are added to it.
static bool collect(struct rb_notify *n, struct rb_outbox_notice *out, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_outbox_notice last;
    if (!rb_outbox_latest(n->config.journal, rb_notice_names[RB_NOTICE_NODE_LOST], 0, arena, &last, err))
        return false;
    if (last.seq == 0)
        return true;
    if (last.due_unix_us > out->unix_us) {
        *out = last;
        out->count++;
    } else if (last.due_unix_us + COLLECT_US > out->unix_us) {
        out->due_unix_us = last.due_unix_us + COLLECT_US;
    }
    return true;
}

static unsigned hooks_for(const struct rb_notify *n, enum rb_notice_kind kind)
{
    unsigned hooks = 0;
    for (int i = 0; i < n_receivers(n); i++)
        if (n->config.job->hooks.items[i].on >> kind & 1 && !n->receivers[i].refuses)
            hooks |= 1u << i;
    return hooks;
}

bool rb_notify_write(struct rb_notify *n, enum rb_notice_kind kind, const char *outcome, const char *detail,
                     struct rb_err *err)
{
    const unsigned hooks = n ? hooks_for(n, kind) : 0;
    if (hooks == 0)
        return true;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf body = RB_BUF_INIT;
    const int64_t at_us = unix_us(n);
    struct rb_outbox_notice row = {.kind = rb_notice_names[kind], .unix_us = at_us, .due_unix_us = at_us, .count = 1};
    struct rb_progress now;
    n->config.look(n->config.ctx, &now);
    if (!rb_outbox_next_seq(n->config.journal, &row.seq, err) ||
        (kind == RB_NOTICE_NODE_LOST && !collect(n, &row, &arena, err)))
        return false;
    if (kind == RB_NOTICE_BUDGET_80)
        row.count = now.budget_uusd;
    rb_notice_write(&(struct rb_notice){.kind = kind,
                                        .run_id = n->config.run_id,
                                        .job = n->config.job->name,
                                        .seq = row.seq,
                                        .unix_us = row.unix_us,
                                        .count = row.count,
                                        .outcome = outcome,
                                        .detail = detail,
                                        .now = &now},
                    &body);
    row.body = rb_buf_str(&body);
    wake_soon(n);
    return rb_outbox_put(n->config.journal, &row, hooks, err);
}

bool rb_notify_budget_is_due(struct rb_notify *n, const struct rb_progress *now)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_outbox_notice last;
    struct rb_err err;
    if (!n || n->lost_journal || now->budget_uusd <= 0 || now->is_lent ||
        (double)now->spent_uusd < 0.8 * (double)now->budget_uusd || !hooks_for(n, RB_NOTICE_BUDGET_80))
        return false;
    return wrote(n, rb_outbox_latest(n->config.journal, rb_notice_names[RB_NOTICE_BUDGET_80], 0, &arena, &last, &err)) &&
           (last.seq == 0 || last.count != now->budget_uusd);
}

// ---- all of it

void rb_notify_drain(struct rb_notify *n, int64_t most_us, void (*done)(void *ctx), void *ctx)
{
    struct rb_err err;
    n->drain.done = done;
    n->drain.ctx = ctx;
    n->drain.until_us = now_us(n) + most_us;
    n->drain.timer = arm(n, most_us, end_drain, n);
    wrote(n, rb_outbox_make_due(n->config.journal, unix_us(n), &err));
    for (int i = 0; i < n_receivers(n); i++)
        disarm(n, &n->receivers[i].timer);
    wake_soon(n);
}

int rb_notify_count_open(struct rb_notify *n, struct rb_buf *out_why)
{
    int open = 0;
    struct rb_err err;
    if (!n || !rb_outbox_count_open(n->config.journal, &open, &err))
        return 0;
    for (int i = 0; i < n_receivers(n); i++) {
        char name[120];
        if (!n->receivers[i].why[0] || n->receivers[i].refuses)
            continue;
        rb_hook_name(spec_of(&n->receivers[i]), name);
        rb_buf_clear(out_why);
        rb_buf_printf(out_why, "%s: %s", name, n->receivers[i].why);
    }
    return open;
}

// Tests do not wait five seconds (docs/HACKING.md).
static int64_t first_retry_us(void)
{
    const char *ms = getenv("RB_TEST_NOTIFY_MS");
    return ms && atoll(ms) > 0 ? atoll(ms) * 1000 : RETRY_US;
}

static bool has_webhook(const struct rb_hook_list *hooks)
{
    for (int i = 0; i < hooks->n; i++)
        if (hooks->items[i].kind == RB_HOOK_WEBHOOK)
            return true;
    return false;
}

static bool add_receiver(struct rb_notify *n, int i, struct rb_err *err)
{
    struct receiver *r = &n->receivers[i];
    *r = (struct receiver){.n = n, .index = i};
    r->hook = rb_hook_create(&(struct rb_hook_config){.loop = n->config.loop,
                                                      .http = n->http,
                                                      .spec = spec_of(r),
                                                      .job = n->config.job,
                                                      .run_id = n->config.run_id,
                                                      .workdir = n->config.workdir});
    return rb_outbox_is_refused(n->config.journal, i, &r->refuses, err);
}

bool rb_notify_create(const struct rb_notify_config *config, struct rb_notify **out, struct rb_err *err)
{
    *out = NULL;
    if (config->job->hooks.n == 0)
        return true;
    struct rb_notify *n = rb_xcalloc(1, sizeof *n);
    n->config = *config;
    n->retry_us = first_retry_us();
    n->receivers = rb_xcalloc((size_t)config->job->hooks.n, sizeof *n->receivers);
    bool ok = (!has_webhook(&config->job->hooks) || rb_http_create(config->loop, &n->http, err)) &&
              rb_outbox_prepare(config->journal, err);
    for (int i = 0; ok && i < n_receivers(n); i++)
        ok = add_receiver(n, i, err);
    if (!ok) {
        rb_notify_destroy(n);
        return false;
    }
    wake_soon(n);
    *out = n;
    return true;
}

void rb_notify_destroy(struct rb_notify *n)
{
    if (!n)
        return;
    disarm(n, &n->wake_timer);
    disarm(n, &n->drain.timer);
    for (int i = 0; i < n_receivers(n); i++) {
        disarm(n, &n->receivers[i].timer);
        rb_hook_destroy(n->receivers[i].hook);
    }
    rb_http_destroy(n->http);
    free(n->receivers);
    free(n);
}
