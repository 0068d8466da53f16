#include "executor/pool/lender.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A node as one borrower sees it.
struct lent {
    char id[96]; // "lent-" and the beginning of the token: the same whenever the launch is repeated
    char token[65], run_id[128], launch_id[64], owner[192], instance_type[64];
    char address[128], private_address[128];
    int node;                               // the owner's, -1: none was ready yet
    int64_t running_unix_us, ended_unix_us; // -1: not yet
};

struct borrower {
    struct rb_lender *lender;
    struct lent **lent;
    int n_lent;
    struct answer *answers;
};

struct rb_lender {
    const struct rb_loop *loop;
    const struct rb_controller *owner;
};

// An answer on its way: callbacks come from the loop, never from inside the call. Exactly one of the functions is set.
struct answer {
    struct borrower *borrower;
    struct answer *next;
    uint64_t timer;
    struct rb_err err; // code NONE: success
    char id[96];       // of this instance, for launch and look
    rb_launch_fn *launched;
    rb_list_fn *listed;
    rb_terminate_fn *terminated;
    void *arg;
};

struct rb_lender *rb_lender_create(const struct rb_loop *loop)
{
    struct rb_lender *l = rb_xcalloc(1, sizeof *l);
    l->loop = loop;
    return l;
}

void rb_lender_destroy(struct rb_lender *l)
{
    free(l);
}

void rb_lender_own(struct rb_lender *l, const struct rb_controller *owner)
{
    l->owner = owner;
}

static int64_t unix_us(const struct rb_lender *l)
{
    return l->loop->unix_us(l->loop->ctx);
}

// ---- the owner's nodes

struct search {
    int node;            // wanted, -1: any that the borrower does not hold
    const char *address; // or the one with this address; NULL: whatever its address
    const char *private_address;
    const struct borrower *borrower;
    const struct rb_launch_row *found;
};

static bool holds(const struct borrower *b, int node)
{
    for (int i = 0; i < b->n_lent; i++) {
        if (b->lent[i]->node == node && b->lent[i]->ended_unix_us < 0)
            return true;
    }
    return false;
}

static void consider(void *ctx, const struct rb_launch_row *row)
{
    struct search *s = ctx;
    if (row->state != RB_LAUNCH_READY || (s->node >= 0 && row->node != s->node))
        return;
    if (s->address && (strcmp(row->address, s->address) != 0 || strcmp(row->private_address, s->private_address) != 0))
        return;
    if (s->node < 0 && holds(s->borrower, row->node))
        return;
    if (!s->found || row->node < s->found->node)
        s->found = row;
}

static const struct rb_launch_row *find(const struct borrower *b, struct search s)
{
    s.borrower = b;
    if (b->lender->owner)
        rb_controller_each_open_launch(b->lender->owner, consider, &s);
    return s.found;
}

// ---- a borrower's nodes

static void bind(struct borrower *b, struct lent *n, const struct rb_launch_row *row)
{
    n->node = row->node;
    n->running_unix_us = n->running_unix_us < 0 ? unix_us(b->lender) : n->running_unix_us;
    snprintf(n->address, sizeof n->address, "%s", row->address);
    snprintf(n->private_address, sizeof n->private_address, "%s", row->private_address);
}

// Nodes that the owner lost are over; waiting requests get nodes that have become ready.
static void refresh(struct borrower *b)
{
    for (int i = 0; i < b->n_lent; i++) {
        struct lent *n = b->lent[i];
        if (n->ended_unix_us < 0 && n->node >= 0 && !find(b, (struct search){.node = n->node}))
            n->ended_unix_us = unix_us(b->lender);
    }
    for (int i = 0; i < b->n_lent; i++) {
        struct lent *n = b->lent[i];
        const struct rb_launch_row *row =
            n->ended_unix_us < 0 && n->node < 0 ? find(b, (struct search){.node = -1}) : NULL;
        if (row)
            bind(b, n, row);
    }
}

static struct lent *add(struct borrower *b, const char *token)
{
    struct lent *n = rb_xcalloc(1, sizeof *n);
    b->lent = rb_xrealloc(b->lent, (size_t)b->n_lent + 1, sizeof(struct lent *));
    b->lent[b->n_lent++] = n;
    snprintf(n->id, sizeof n->id, "lent-%.32s", token);
    snprintf(n->token, sizeof n->token, "%s", token);
    n->node = -1;
    n->running_unix_us = n->ended_unix_us = -1;
    return n;
}

static struct lent *with_id(const struct borrower *b, const char *id)
{
    for (int i = 0; i < b->n_lent; i++) {
        if (strcmp(b->lent[i]->id, id) == 0)
            return b->lent[i];
    }
    return NULL;
}

// A node that was lent before a restart is lent again, by its address. If the owner has lost it meanwhile, it is over.
static void remember(struct borrower *b, const struct rb_launch_row *row)
{
    if (row->instance_id[0] == '\0' || row->state == RB_LAUNCH_GONE)
        return;
    struct lent *n = add(b, row->token);
    snprintf(n->launch_id, sizeof n->launch_id, "%s", row->launch_id);
    snprintf(n->instance_type, sizeof n->instance_type, "%s", row->instance_type);
    n->running_unix_us = row->running_unix_us;
    if (row->address[0] == '\0')
        return;
    const struct search s = {.node = -1, .address = row->address, .private_address = row->private_address};
    const struct rb_launch_row *owners = find(b, s);
    if (owners)
        bind(b, n, owners);
    else
        n->ended_unix_us = unix_us(b->lender);
}

static struct rb_instance instance(const struct lent *n)
{
    const bool over = n->ended_unix_us >= 0, here = n->node >= 0;
    return (struct rb_instance){
        .id = n->id,
        .state = over   ? RB_INSTANCE_TERMINATED
                 : here ? RB_INSTANCE_RUNNING
                        : RB_INSTANCE_PENDING,
        .address = here ? n->address : NULL,
        .private_address = here ? n->private_address : NULL,
        .instance_type = n->instance_type,
        .market = RB_MARKET_ON_DEMAND,
        .token = n->token,
        .run_id = n->run_id[0] ? n->run_id : NULL,
        .launch_id = n->launch_id,
        .owner = n->owner[0] ? n->owner : NULL,
        .running_at_us = n->running_unix_us,
        .terminated_at_us = n->ended_unix_us,
    };
}

// ---- answers

static void forget(struct answer *a)
{
    struct answer **at = &a->borrower->answers;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    free(a);
}

static void answer_list(const struct answer *a)
{
    const struct borrower *b = a->borrower;
    struct rb_instance *all = rb_xcalloc((size_t)b->n_lent + 1, sizeof *all);
    for (int i = 0; i < b->n_lent; i++)
        all[i] = instance(b->lent[i]);
    const int n = b->n_lent;
    a->listed(a->arg, NULL, all, n, true);
    free(all);
}

static void deliver(void *arg)
{
    struct answer a = *(struct answer *)arg;
    const struct rb_err *err = a.err.code ? &a.err : NULL;
    forget(arg);
    refresh(a.borrower);
    const struct lent *n = with_id(a.borrower, a.id);
    if (a.listed) {
        answer_list(&a);
    } else if (a.terminated) {
        a.terminated(a.arg, err);
    } else {
        const struct rb_instance one = n ? instance(n) : (struct rb_instance){0};
        a.launched(a.arg, err, err ? NULL : &one);
    }
}

static struct answer *answer_soon(struct rb_provider *p, void *arg)
{
    struct borrower *b = p->state;
    struct answer *a = rb_xcalloc(1, sizeof *a);
    *a = (struct answer){.borrower = b, .next = b->answers, .arg = arg};
    b->answers = a;
    a->timer = b->lender->loop->timer_start(b->lender->loop->ctx, 0, deliver, a);
    return a;
}

// ---- the provider

static void keep_tags(struct lent *n, const struct rb_launch *launch)
{
    snprintf(n->run_id, sizeof n->run_id, "%s", launch->tags.run_id);
    snprintf(n->launch_id, sizeof n->launch_id, "%s", launch->tags.launch_id);
    snprintf(n->owner, sizeof n->owner, "%s", launch->tags.owner);
    snprintf(n->instance_type, sizeof n->instance_type, "%s", launch->instance_type);
}

static void lender_launch(struct rb_provider *p, const struct rb_launch *launch, rb_launch_fn *fn, void *arg)
{
    struct borrower *b = p->state;
    struct answer *a = answer_soon(p, arg);
    a->launched = fn;
    struct lent *n = NULL;
    for (int i = 0; i < b->n_lent && !n; i++)
        n = strcmp(b->lent[i]->token, launch->token) == 0 ? b->lent[i] : NULL;
    if (!n)
        n = add(b, launch->token);
    keep_tags(n, launch);
    memcpy(a->id, n->id, sizeof a->id);
}

static void lender_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    (void)run_id; // a borrower has one run
    answer_soon(p, arg)->listed = fn;
}

static void lender_look(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg)
{
    struct answer *a = answer_soon(p, arg);
    a->launched = fn;
    snprintf(a->id, sizeof a->id, "%s", id);
    if (!with_id(p->state, id))
        rb_err_set(&a->err, RB_E_LOCAL_NODE, "%s was never lent", id);
}

static void lender_terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    struct borrower *b = p->state;
    struct answer *a = answer_soon(p, arg);
    a->terminated = fn;
    struct lent *n = with_id(b, id);
    if (!n)
        rb_err_set(&a->err, RB_E_LOCAL_NODE, "%s was never lent", id);
    else if (n->ended_unix_us < 0)
        n->ended_unix_us = unix_us(b->lender);
}

static void lender_destroy(struct rb_provider *p)
{
    struct borrower *b = p->state;
    for (struct answer *a = b->answers, *next; a; a = next) {
        next = a->next;
        b->lender->loop->timer_cancel(b->lender->loop->ctx, a->timer);
        free(a);
    }
    for (int i = 0; i < b->n_lent; i++)
        free(b->lent[i]);
    free(b->lent);
    free(b);
}

static bool is_harmless(const char *region)
{
    (void)region;
    return true; // lent nodes were launched before
}

static const struct rb_provider_ops lender_ops = {
    .name = "pool",
    .summary = "nodes lent by the run that owns them",
    .is_in_process = true,
    .destroy = lender_destroy,
    .launch = lender_launch,
    .list = lender_list,
    .look = lender_look,
    .terminate = lender_terminate,
    .is_harmless = is_harmless,
};

void rb_lender_open(struct rb_lender *l, const struct rb_launch_row *rows, int n, struct rb_provider *out)
{
    struct borrower *b = rb_xcalloc(1, sizeof *b);
    b->lender = l;
    for (int i = 0; i < n; i++)
        remember(b, &rows[i]);
    *out = (struct rb_provider){.ops = &lender_ops, .state = b};
}

int rb_lender_node(const struct rb_provider *borrower, const char *instance_id)
{
    const struct lent *n = with_id(borrower->state, instance_id);
    return n && n->ended_unix_us < 0 ? n->node : -1;
}

void rb_lender_find_machine(const struct rb_provider *borrower, struct rb_launch_node *node)
{
    const struct borrower *b = borrower->state;
    const struct lent *n = with_id(b, node->instance_id);
    const struct rb_launch_row *row = n && n->node >= 0 ? find(b, (struct search){.node = n->node}) : NULL;
    if (!row)
        return;
    node->infra = row->infra;
    node->instance_id = row->instance_id;
    node->address = row->address;
    node->host_key = row->host_key;
}
