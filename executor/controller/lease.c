// The wall clock decides whether a renewal is due, and is read often: timers stop while a machine sleeps, leases do
// not.
#include "executor/controller/lease.h"

#include "base/arena.h"
#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 20 };            // at the clock, between two renewals
#define GATHER_US (RB_US_PER_S) // several nodes that come at once are renewed together

struct rb_lease_keeper {
    struct rb_lease_keeper_config config;
    uint64_t timer;
    int64_t due_unix_us;  // the next renewal
    bool under_way;       // a renewal is
    bool warned, renewed; // a problem was reported; at least one renewal succeeded
    const char **ids;     // of the renewal that begins, [n]; strings owned
    int n;
};

void rb_lease_format(int64_t until_us, char out[static 32])
{
    rb_format_instant(until_us / RB_US_PER_S * RB_US_PER_S, out);
}

// A version without renewals wrote the planned end of a launch, hours or days ahead: no lease is longer than twice
// ours.
enum rb_lease_state rb_lease_state(const char *expires_at, int64_t clock_us)
{
    int64_t until_us;
    if (!expires_at || !rb_parse_instant(expires_at, &until_us, NULL))
        return RB_LEASE_NONE;
    if (clock_us < 0)
        return RB_LEASE_UNKNOWN;
    if (until_us - clock_us > 2 * RB_LEASE_S * RB_US_PER_S)
        return RB_LEASE_NONE;
    return until_us > clock_us ? RB_LEASE_FRESH : RB_LEASE_LAPSED;
}

static int64_t unix_us(const struct rb_lease_keeper *k)
{
    return k->config.loop->unix_us(k->config.loop->ctx);
}

// The cloud's clock, or ours until it has shown its own.
static int64_t cloud_us(const struct rb_lease_keeper *k)
{
    const struct rb_provider *p = k->config.provider;
    const int64_t clock_us = p->ops->clock_us ? p->ops->clock_us(p) : -1;
    return clock_us >= 0 ? clock_us : unix_us(k);
}

static int64_t period_us(const struct rb_lease_keeper *k)
{
    return k->config.length_us / RB_LEASE_RENEWALS;
}

static void take_id(void *to, const char *instance_id)
{
    struct rb_lease_keeper *k = to;
    k->ids = rb_xrealloc(k->ids, (size_t)k->n + 1, sizeof *k->ids);
    k->ids[k->n++] = rb_xstrdup(instance_id);
}

static void drop_ids(struct rb_lease_keeper *k)
{
    for (int i = 0; i < k->n; i++)
        free((char *)k->ids[i]);
    k->n = 0;
}

static void warn(struct rb_lease_keeper *k, const struct rb_err *err)
{
    char length[32], text[900];
    if (k->warned)
        return;
    k->warned = true;
    snprintf(text, sizeof text,
             "the leases of the nodes in %s cannot be renewed (%.500s); the run continues, and tries again. Until that "
             "works, "
             "`rbrun gc` called elsewhere may take them for left over %s after their %s",
             k->config.infra, err->message, rb_format_duration(k->config.length_us, length),
             k->renewed ? "last renewal" : "launch");
    k->config.warn(k->config.ctx, text);
}

static void answered(void *arg, const struct rb_err *err)
{
    struct rb_lease_keeper *k = arg;
    k->under_way = false;
    k->renewed = k->renewed || !err;
    if (!err)
        return;
    const int64_t retry_us = RB_LEASE_RETRY_S * RB_US_PER_S, retry_at_us = unix_us(k) + retry_us;
    if (err->code != RB_ERR_DENIED && retry_at_us < k->due_unix_us) // a missing right stays missing for a while
        k->due_unix_us = retry_at_us;
    warn(k, err);
}

static void renew(struct rb_lease_keeper *k)
{
    char until[32];
    k->due_unix_us = unix_us(k) + period_us(k);
    k->config.each(k->config.ctx, take_id, k);
    if (k->n > 0) {
        rb_lease_format(cloud_us(k) + k->config.length_us, until);
        k->under_way = true;
        k->config.provider->ops->renew(k->config.provider, k->ids, k->n, &(struct rb_tag){RB_LEASE_TAG, until},
                                       answered, k);
    }
    drop_ids(k);
}

static void look(void *arg)
{
    struct rb_lease_keeper *k = arg;
    const struct rb_loop *loop = k->config.loop;
    k->timer = loop->timer_start(loop->ctx, period_us(k) / LOOKS, look, k);
    // A clock that was set back must not delay it.
    if (!k->under_way && (unix_us(k) >= k->due_unix_us || k->due_unix_us - unix_us(k) > period_us(k)))
        renew(k);
}

void rb_lease_keeper_add(struct rb_lease_keeper *k, int64_t until_us)
{
    if (!k)
        return;
    const struct rb_loop *loop = k->config.loop;
    const int64_t left_us = until_us - cloud_us(k), soon_us = period_us(k) / LOOKS;
    const bool as_it_should_be = left_us > k->config.length_us - period_us(k) && left_us <= k->config.length_us;
    if (k->warned || (k->renewed && as_it_should_be))
        return;
    k->due_unix_us = unix_us(k);
    loop->timer_cancel(loop->ctx, k->timer);
    k->timer = loop->timer_start(loop->ctx, soon_us < GATHER_US ? soon_us : GATHER_US, look, k);
}

struct rb_lease_keeper *rb_lease_keeper_create(const struct rb_lease_keeper_config *config)
{
    if (!config->provider->ops->renew)
        return NULL;
    struct rb_lease_keeper *k = rb_xcalloc(1, sizeof *k);
    k->config = *config;
    if (k->config.length_us <= 0)
        k->config.length_us = RB_LEASE_S * RB_US_PER_S;
    k->due_unix_us = unix_us(k);
    k->timer = config->loop->timer_start(config->loop->ctx, 0, look, k);
    return k;
}

void rb_lease_keeper_destroy(struct rb_lease_keeper *k)
{
    if (!k)
        return;
    if (k->timer)
        k->config.loop->timer_cancel(k->config.loop->ctx, k->timer);
    drop_ids(k);
    free(k->ids);
    free(k);
}
