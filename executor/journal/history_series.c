// Sweeps over the instants at which something changed.
#include "executor/journal/history_series.h"

#include "base/limits.h"
#include "base/order.h"
#include "executor/controller/spend.h"
#include "executor/journal/history.h"
#include "profiles/catalog/capacity.h"

#include <stdlib.h>
#include <string.h>

void rb_history_columns_write(const char *const *names, int n, struct rb_json *j)
{
    rb_json_put(j, "columns: [");
    for (int i = 0; i < n; i++)
        rb_json_string(j, names[i]);
    rb_json_end_array(j);
}

static int64_t end_of(const struct rb_report_node *n)
{
    return n->terminated_us >= 0 ? n->terminated_us : n->gone_us;
}

// --- GPUs

enum change_kind { NODE_ENDS, START_ENDS, NODE_RUNS, PRICE_CHANGES, LENT, START_BEGINS }; // of one instant, in this order

struct change {
    int64_t at_us;
    enum change_kind kind;
    int node, index; // of the run; index into the list that the kind is about
    uint64_t gpus;
};

struct sweep {
    const struct rb_report *r;
    struct change *changes;
    int n;
    // By node of the run, [n_nodes]:
    int n_nodes;
    uint64_t *usable;                        // GPUs that count as owned; 0 while nothing is paid
    int8_t (*users)[RB_LIMIT_GPUS_PER_NODE]; // trials on each GPU
    int owned, used;
    int64_t *rates; // of each of the report's nodes now
    int64_t uusd_per_hour;
};

static void add(struct sweep *s, struct change change)
{
    if (change.at_us < 0)
        return;
    s->changes = rb_grow(s->changes, s->n, sizeof *s->changes);
    s->changes[s->n++] = change;
}

static int by_time(const void *pa, const void *pb)
{
    const struct change *a = pa, *b = pb;
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us ? -1 : 1;
    return a->kind != b->kind ? (int)a->kind - (int)b->kind : a->index - b->index;
}

static bool is_lent(const struct rb_lent_change *lent, int n_lent, int node)
{
    for (int i = 0; i < n_lent; i++)
        if (lent[i].node == node)
            return true;
    return false;
}

static void list_changes(struct sweep *s, const struct rb_lent_change *lent, int n_lent)
{
    for (int i = 0; i < s->r->n_nodes; i++) {
        const struct rb_report_node *n = &s->r->nodes[i];
        if (n->running_us < 0)
            continue;
        const uint64_t all = ~UINT64_C(0) >> (RB_LIMIT_GPUS_PER_NODE - s->r->plan->offers[n->offer].gpus);
        add(s, (struct change){n->running_us, NODE_RUNS, n->node, i, is_lent(lent, n_lent, n->node) ? 0 : all});
        add(s, (struct change){end_of(n), NODE_ENDS, n->node, i, 0});
        for (int k = 0; k < n->prices.n; k++) {
            const int64_t at_us = n->prices.steps[k].at_us - n->prices.ahead_us;
            if (at_us > n->running_us && (end_of(n) < 0 || at_us < end_of(n)))
                add(s, (struct change){at_us, PRICE_CHANGES, n->node, i, 0});
        }
    }
    for (int i = 0; i < n_lent; i++)
        add(s, (struct change){lent[i].at_us, LENT, lent[i].node, i, lent[i].gpus});
    for (int i = 0; i < s->r->n_tasks; i++) {
        const struct rb_task_row *t = &s->r->tasks[i];
        for (int k = 0; k < t->n_slots; k++) {
            add(s, (struct change){t->started_us, START_BEGINS, t->slots[k].node, i, t->slots[k].gpus});
            add(s, (struct change){t->ended_us, START_ENDS, t->slots[k].node, i, t->slots[k].gpus});
        }
    }
    if (s->n)
        qsort(s->changes, (size_t)s->n, sizeof *s->changes, by_time);
}

static int64_t rate_of(const struct sweep *s, const struct rb_report_node *n, int64_t at_us)
{
    struct rb_billing billing;
    if (!rb_spend_billing(s->r->plan, n->offer, &billing, NULL))
        return 0; // cannot happen: the report was made with it
    billing.prices = n->prices;
    return rb_bill_uusd_per_hour_at(&billing, at_us);
}

static void set_rate(struct sweep *s, int index, int64_t uusd_per_hour)
{
    s->uusd_per_hour += uusd_per_hour - s->rates[index];
    s->rates[index] = uusd_per_hour;
}

static void use(struct sweep *s, const struct change *c, int by)
{
    for (int g = 0; g < RB_LIMIT_GPUS_PER_NODE; g++) {
        if (!(c->gpus >> g & 1))
            continue;
        int8_t *users = &s->users[c->node][g];
        if (by < 0 && *users == 0)
            continue; // its node ended before it
        s->used += by > 0 && *users == 0;
        s->used -= by < 0 && *users == 1;
        *users = (int8_t)(*users + by);
    }
}

// Clouds report whole seconds: GPU use of a trial just after its node's end does not count.
static void clear(struct sweep *s, int node)
{
    for (int g = 0; g < RB_LIMIT_GPUS_PER_NODE; g++) {
        s->used -= s->users[node][g] > 0;
        s->users[node][g] = 0;
    }
}

static void own(struct sweep *s, int node, uint64_t gpus)
{
    s->owned += __builtin_popcountll(gpus) - __builtin_popcountll(s->usable[node]);
    s->usable[node] = gpus;
}

static void apply(struct sweep *s, const struct change *c)
{
    if (c->node < 0 || c->node >= s->n_nodes)
        return;
    switch (c->kind) {
    case NODE_RUNS:
        own(s, c->node, c->gpus);
        set_rate(s, c->index, rate_of(s, &s->r->nodes[c->index], c->at_us));
        break;
    case PRICE_CHANGES:
        set_rate(s, c->index, rate_of(s, &s->r->nodes[c->index], c->at_us));
        break;
    case NODE_ENDS:
        own(s, c->node, 0);
        clear(s, c->node);
        set_rate(s, c->index, 0);
        break;
    case LENT:
        own(s, c->node, c->gpus);
        break;
    case START_BEGINS:
        use(s, c, 1);
        break;
    case START_ENDS:
        use(s, c, -1);
        break;
    }
}

static void write_gpus_row(int64_t at_us, const struct sweep *s, struct rb_json *j)
{
    rb_json_put(j, "[%jd %d %d %jd]", at_us, s->owned, s->used, s->uusd_per_hour);
}

static void sweep_init(struct sweep *s, const struct rb_report *r)
{
    *s = (struct sweep){.r = r};
    for (int i = 0; i < r->n_nodes; i++)
        s->n_nodes = r->nodes[i].node >= s->n_nodes ? r->nodes[i].node + 1 : s->n_nodes;
    s->usable = rb_xcalloc((size_t)s->n_nodes + 1, sizeof *s->usable);
    s->users = rb_xcalloc((size_t)s->n_nodes + 1, sizeof *s->users);
    s->rates = rb_xcalloc((size_t)r->n_nodes + 1, sizeof *s->rates);
}

void rb_history_gpus_write(const struct rb_report *r, const struct rb_lent_change *lent, int n_lent, struct rb_json *j)
{
    static const char *const columns[] = {"at_us", "owned", "used", "uusd_per_hour"};
    struct sweep s;
    sweep_init(&s, r);
    list_changes(&s, lent, n_lent);
    rb_json_put(j, "gpus: {");
    rb_history_columns_write(columns, 4, j);
    rb_json_put(j, "rows: [");
    for (int i = 0; i < s.n; i++) {
        apply(&s, &s.changes[i]);
        if (i + 1 == s.n || s.changes[i + 1].at_us != s.changes[i].at_us)
            write_gpus_row(s.changes[i].at_us, &s, j);
    }
    rb_json_put(j, "]}");
    free(s.changes);
    free(s.usable);
    free(s.users);
    free(s.rates);
}

// --- dollars

// The points where the line bends, as far as they fit, and an even grid.
static int list_instants(const struct rb_report *r, int64_t out[static RB_HISTORY_SPENT])
{
    const int grid = RB_HISTORY_SPENT / 4;
    int n = 0, kept = 0;
    for (int i = 0; i <= grid; i++)
        out[n++] = r->now_us / grid * i;
    for (int i = 0; i < r->n_nodes && n + 3 < RB_HISTORY_SPENT; i++) {
        const int64_t bends[] = {r->nodes[i].running_us, end_of(&r->nodes[i])};
        for (int k = 0; k < 2; k++)
            if (bends[k] >= 0 && bends[k] <= r->now_us)
                out[n++] = bends[k];
    }
    out[n++] = r->now_us;
    qsort(out, (size_t)n, sizeof *out, rb_order_int64s);
    for (int i = 0; i < n; i++)
        if (i + 1 == n || out[i] != out[i + 1])
            out[kept++] = out[i];
    return kept;
}

// Before its end: the bill if it had ended then. After its end, or at the last instant: its bill.
static int64_t spent_on(const struct rb_report_node *n, const struct rb_billing *billing, int64_t at_us, int64_t now_us)
{
    if (n->running_us < 0 || n->running_us > at_us)
        return 0;
    if (at_us >= now_us || (n->terminated_us >= 0 && n->terminated_us <= at_us))
        return n->cost_uusd;
    struct rb_billing priced = *billing;
    priced.prices = n->prices;
    const int64_t so_far = rb_bill_node(&priced, n->running_us, at_us).total_uusd;
    return so_far < n->cost_uusd ? so_far : n->cost_uusd;
}

static void write_spent_row(const struct rb_report *r, const struct rb_billing *billings, int64_t at_us,
                            struct rb_json *j)
{
    int64_t uusd = 0;
    for (int i = 0; i < r->n_nodes; i++)
        uusd += spent_on(&r->nodes[i], &billings[r->nodes[i].offer], at_us, r->now_us);
    rb_json_put(j, "[%jd %jd]", at_us, uusd);
}

static bool price_nodes(const struct rb_report *r, struct rb_billing *out, struct rb_err *err)
{
    for (int i = 0; i < r->n_nodes; i++)
        if (!rb_spend_billing(r->plan, r->nodes[i].offer, &out[r->nodes[i].offer], err))
            return false;
    return true;
}

bool rb_history_spent_write(const struct rb_report *r, struct rb_json *j, struct rb_err *err)
{
    static const char *const columns[] = {"at_us", "uusd"};
    int64_t instants[RB_HISTORY_SPENT];
    RB_AUTO(rb_auto_free)
    struct rb_billing *billings = rb_xcalloc((size_t)r->plan->n_offers + 1, sizeof *billings);
    if (!price_nodes(r, billings, err))
        return false;
    const int n = list_instants(r, instants);
    rb_json_put(j, "spent: {");
    rb_history_columns_write(columns, 2, j);
    rb_json_put(j, "rows: [");
    for (int i = 0; i < n; i++)
        write_spent_row(r, billings, instants[i], j);
    rb_json_put(j, "]}");
    return true;
}
