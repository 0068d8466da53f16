// Gangs: nodes over which one trial is spread are useless apart. They are launched by one request, all of them or none.
// This file decides which nodes form a gang, and how a gang ends that cannot be completed.
#include "executor/controller/controller_private.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rb_run_gang *rb_run_gang_create(struct rb_controller *c, int n)
{
    struct rb_run_gang *g = rb_xcalloc(1, sizeof *g);
    *g = (struct rb_run_gang){.c = c, .n = n, .unanswered_us = -1};
    g->members = rb_xcalloc((size_t)n, sizeof(struct rb_run_node *));
    c->gangs = rb_xrealloc(c->gangs, (size_t)c->n_gangs + 1, sizeof(struct rb_run_gang *));
    c->gangs[c->n_gangs++] = g;
    return g;
}

void rb_run_gang_discard(struct rb_run_gang *g)
{
    assert(g->c->gangs[g->c->n_gangs - 1] == g);
    g->c->n_gangs--;
    for (int i = 0; i < g->n; i++)
        g->members[i]->gang = NULL;
    free(g->members);
    free(g);
}

void rb_controller_free_gangs(struct rb_controller *c)
{
    for (int i = 0; i < c->n_gangs; i++) {
        rb_controller_disarm(c, &c->gangs[i]->timer);
        free(c->gangs[i]->members);
        free(c->gangs[i]);
    }
    free(c->gangs);
}

static bool launches_gangs(const struct rb_controller *c, const struct rb_offer *offer)
{
    return c->config.places[rb_controller_infra_of(c, offer->infra)].provider->ops->launches_gangs;
}

// The number of nodes over which the stage of the order spreads one trial.
static int span_of(const struct rb_controller *c, const struct rb_action *order)
{
    const struct rb_plan *plan = c->config.plan;
    const struct rb_offer *offer = &plan->offers[order->offer];
    const int gpus = offer->gpus, wanted = plan->stages[order->stage].gpus_per_trial;
    return gpus > 0 && launches_gangs(c, offer) ? (wanted + gpus - 1) / gpus : 1;
}

static int by_node(const void *a, const void *b)
{
    const struct rb_action *x = *(const struct rb_action *const *)a, *y = *(const struct rb_action *const *)b;
    return (x->node > y->node) - (x->node < y->node);
}

// By node, because after a crash only the node of a row shows its place in the gang.
void rb_controller_record_launches(struct rb_controller *c, const struct rb_action *orders, int n)
{
    const struct rb_action **sorted = rb_xcalloc((size_t)n + 1, sizeof *sorted);
    for (int i = 0; i < n; i++)
        sorted[i] = &orders[i];
    if (n > 1)
        qsort(sorted, (size_t)n, sizeof *sorted, by_node);
    for (int i = 0, together; i < n; i += together) {
        const int span = span_of(c, sorted[i]);
        for (together = 1; together < span && i + together < n; together++)
            if (sorted[i + together]->stage != sorted[i]->stage || sorted[i + together]->offer != sorted[i]->offer)
                break;
        rb_run_gang_record(c, sorted + i, together);
    }
    free(sorted);
}

static int by_launch(const void *a, const void *b)
{
    const struct rb_launch_row *x = &(*(struct rb_run_node *const *)a)->row;
    const struct rb_launch_row *y = &(*(struct rb_run_node *const *)b)->row;
    const int order = strcmp(x->launch_id, y->launch_id);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

// One request launches another node with each row, and has one token and one outcome.
static bool can_share_launch(const struct rb_run_node *a, const struct rb_run_node *b)
{
    return a->id != b->id && strcmp(a->row.token, b->row.token) == 0 &&
           (!rb_run_node_is_undecided(a) || !rb_run_node_is_undecided(b) || a->row.state == b->row.state);
}

static bool link_gang(struct rb_controller *c, struct rb_run_node **members, int n, struct rb_err *err)
{
    struct rb_run_gang *g = rb_run_gang_create(c, n);
    for (int i = 0; i < n; i++) {
        if (i > 0 && !can_share_launch(members[i - 1], members[i]))
            return rb_journal_misfit(c->journal, err,
                                     "its rows of launch %s contradict each other, for nodes %d and %d",
                                     members[i]->row.launch_id, members[i - 1]->id, members[i]->id);
        g->members[i] = members[i];
        members[i]->gang = g;
        members[i]->member = i;
    }
    return true;
}

bool rb_controller_link_gangs(struct rb_controller *c, struct rb_err *err)
{
    int n = 0;
    bool ok = true;
    struct rb_run_node **all = rb_xcalloc((size_t)rb_controller_n_launches(c) + 1, sizeof(struct rb_run_node *));
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        struct rb_run_node *l = rb_controller_launch_at(c, i);
        if (rb_run_node_has_row(l) && l->row.attempt >= 0) // a stray's launch belongs to another row
            all[n++] = l;
    }
    if (n > 1)
        qsort(all, (size_t)n, sizeof(struct rb_run_node *), by_launch);
    for (int i = 0, together; ok && i < n; i += together) {
        for (together = 1; i + together < n; together++)
            if (strcmp(all[i + together]->row.launch_id, all[i]->row.launch_id) != 0)
                break;
        ok = link_gang(c, all + i, together, err);
    }
    free(all);
    return ok;
}

const struct rb_run_node *rb_run_gang_find(const struct rb_run_gang *g, bool (*is)(const struct rb_run_node *n))
{
    for (int i = 0; i < g->n; i++)
        if (is(g->members[i]))
            return g->members[i];
    return NULL;
}

bool rb_run_gang_is_called(const struct rb_run_gang *g)
{
    for (const struct rb_run_call *call = g->c->calls; call; call = call->next)
        if (call->gang == g)
            return true;
    return false;
}

void rb_run_gang_name(const struct rb_run_gang *g, struct rb_buf *out)
{
    rb_buf_puts(out, g->n > 1 ? "nodes " : "node ");
    for (int i = 0; i < g->n; i++)
        rb_buf_printf(out, "%s%d", i ? ", " : "", g->members[i]->id);
}

void rb_run_gang_note(const struct rb_run_gang *g, const char *kind, const char *fmt, ...)
{
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rb_run_gang_name(g, &name);
    rb_controller_note(g->c, kind, "%s: %s", rb_buf_str(&name), text);
}

// A gang of one is one write; a larger one is a transaction, which may be open already.
bool rb_run_gang_enter(struct rb_run_gang *g, enum rb_launch_state state)
{
    struct rb_controller *c = g->c;
    const bool own = g->n > 1 && !c->in_transaction;
    if (own && !rb_controller_begin(c))
        return false;
    for (int i = 0; i < g->n; i++) {
        struct rb_run_node *n = g->members[i];
        if (!rb_run_node_is_undecided(n) || n->row.state == state)
            continue;
        rb_run_node_enter(n, state);
        if (!rb_run_node_write(n))
            return false;
    }
    return !own || rb_controller_commit(c);
}

// Writes the rows, and collects the engine's events. Inside a transaction. Returns the number of events.
static int record_break(struct rb_run_gang *g, struct rb_event *events)
{
    struct rb_controller *c = g->c;
    int n_events = 0;
    for (int i = 0; i < g->n && !c->dead; i++) {
        struct rb_run_node *n = g->members[i];
        const bool exists = rb_run_node_exists(n);
        if (exists)
            rb_run_node_drop_tasks(c, n->id);
        if (exists || n->row.state == RB_LAUNCH_INTENT) {
            rb_run_node_record_end(c, n);
        } else if (rb_run_node_is_undecided(n)) {
            rb_run_node_enter(n, RB_LAUNCH_REFUSED);
            n->row.terminate_us = rb_controller_now_us(c); // ended by us: its offer was not sold out
            rb_run_node_write(n);
        }
        if (rb_run_node_is_wanted(n) && (exists || n->row.state == RB_LAUNCH_REFUSED))
            events[n_events++] = (struct rb_event){
                .kind = exists ? RB_EVENT_NODE_LOST : RB_EVENT_NODE_REFUSED, .node = n->id, .attempt = n->row.attempt};
    }
    return n_events;
}

void rb_run_gang_break(struct rb_run_gang *g, const char *why)
{
    struct rb_controller *c = g->c;
    if (!rb_controller_begin(c))
        return;
    const struct rb_run_node *open = rb_run_gang_find(g, rb_run_node_is_undecided);
    if (open && open->row.state != RB_LAUNCH_INTENT) // a request was sent
        rb_run_gang_await_copies(g);
    rb_controller_disarm(c, &g->timer);
    rb_run_gang_note(g, "fault", "given up together: %s", why);
    struct rb_event *events = rb_xcalloc((size_t)g->n, sizeof *events);
    const int n_events = record_break(g, events);
    rb_run_gang_drop_user_data(g);
    if (n_events > 0)
        rb_controller_turns(c, events, n_events);
    else
        rb_controller_commit(c);
    free(events);
    for (int i = 0; i < g->n && !c->dead; i++)
        rb_run_node_terminate(g->members[i]);
}
