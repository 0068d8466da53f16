#include "engine/tuners/rung_state.h"

#include "base/arena.h"
#include "base/order.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct result {
    int trial;
    double score;
};

struct rung_state {
    struct rb_rung_table table;
    int first_trial;
    int rung;    // the last one started, -1: none yet
    int *trials; // of that rung, ascending; [n_trials]
    int n_trials;
    int *dropped; // of the rung before, the best first, [n_dropped]
    int n_dropped;
    int n_fit;              // of them, those that reported there: they take the places of failed ones
    int n_taken;            // of these, those that have one
    int n_replaced;         // of these, those that were started
    struct result *results; // received so far
    int n_results;
};

void *rb_rung_state_new(const struct rb_rung_table *table, int first_trial)
{
    struct rung_state *s = rb_xcalloc(1, sizeof *s);
    s->table = *table;
    s->first_trial = first_trial;
    s->rung = -1;
    s->trials = rb_xcalloc((size_t)table->rungs[0].trials, sizeof *s->trials);
    s->dropped = rb_xcalloc((size_t)table->rungs[0].trials, sizeof *s->dropped);
    s->results = rb_xcalloc((size_t)table->rungs[0].trials, sizeof *s->results);
    return s;
}

bool rb_rung_state_create(const struct rb_job *job, void **out_state, struct rb_err *err)
{
    struct rb_rung_table table;
    if (!rb_rungs_of_job(job, &table, err))
        return false;
    *out_state = rb_rung_state_new(&table, 0);
    return true;
}

void rb_rung_state_destroy(void *state)
{
    struct rung_state *s = state;
    if (!s)
        return;
    free(s->trials);
    free(s->dropped);
    free(s->results);
    free(s);
}

static int best_first(const void *pa, const void *pb)
{
    const struct result *a = pa, *b = pb;
    return rb_score_compare(a->score, a->trial, b->score, b->trial);
}

// The best of the rung, ascending by id. Trials that failed or diverged are never promoted, even into an empty place:
// there is nothing to resume from, or nothing worth its cost.
static void promote(struct rung_state *s, int n_wanted)
{
    qsort(s->results, (size_t)s->n_results, sizeof *s->results, best_first);
    s->n_trials = 0;
    for (int i = 0; i < s->n_results && s->n_trials < n_wanted && s->results[i].score > -INFINITY; i++)
        s->trials[s->n_trials++] = s->results[i].trial;
    s->n_dropped = s->n_fit = s->n_taken = s->n_replaced = 0;
    for (int i = s->n_trials; i < s->n_results; i++) {
        s->n_fit += s->results[i].score > -INFINITY;
        s->dropped[s->n_dropped++] = s->results[i].trial;
    }
    qsort(s->trials, (size_t)s->n_trials, sizeof *s->trials, rb_order_ints);
}

// Starts the replacement: the running rung, as a group of one.
static void hand_out_replacement(struct rung_state *s, struct rb_group *out)
{
    const struct rb_rung *rung = &s->table.rungs[s->rung];
    *out = (struct rb_group){
        .stage = s->rung,
        .trials = &s->dropped[s->n_replaced++],
        .n_trials = 1,
        .resource_start = rung->resource_start,
        .resource_end = rung->resource_end,
        .replaces = true,
    };
}

enum rb_tuner_next rb_rung_state_next(void *state, struct rb_group *out)
{
    struct rung_state *s = state;
    if (s->n_replaced < s->n_taken) {
        hand_out_replacement(s, out);
        return RB_TUNER_GROUP;
    }
    if (s->n_results < s->n_trials)
        return RB_TUNER_WAIT;
    if (s->rung + 1 == s->table.n)
        return RB_TUNER_DONE;
    const struct rb_rung *next = &s->table.rungs[s->rung + 1];
    if (s->rung < 0) {
        for (int i = 0; i < next->trials; i++)
            s->trials[i] = s->first_trial + i;
        s->n_trials = next->trials;
    } else {
        promote(s, next->trials);
    }
    s->n_results = 0;
    if (s->n_trials == 0)
        return RB_TUNER_DONE;
    s->rung++;
    *out = (struct rb_group){
        .stage = s->rung,
        .trials = s->trials,
        .n_trials = s->n_trials,
        .resource_start = next->resource_start,
        .resource_end = next->resource_end,
        .dropped = s->dropped,
        .n_dropped = s->n_dropped,
    };
    return RB_TUNER_GROUP;
}

void rb_rung_state_ended(void *state, int trial, int64_t resource, double score)
{
    struct rung_state *s = state;
    assert(s->rung >= 0 && s->n_results < s->n_trials);
    assert(resource == s->table.rungs[s->rung].resource_end || !(score > -INFINITY));
    assert(bsearch(&trial, s->trials, (size_t)s->n_trials, sizeof *s->trials, rb_order_ints));
    s->results[s->n_results++] = (struct result){.trial = trial, .score = score};
}

// Its place in the rung goes to the next best of the rung below; in the first rung, or if none is left, it stays empty.
void rb_rung_state_failed(void *state, int trial)
{
    struct rung_state *s = state;
    if (s->n_taken == s->n_fit) {
        rb_rung_state_ended(s, trial, 0, -INFINITY);
        return;
    }
    int *place = bsearch(&trial, s->trials, (size_t)s->n_trials, sizeof *s->trials, rb_order_ints);
    assert(place);
    *place = s->dropped[s->n_taken++];
    qsort(s->trials, (size_t)s->n_trials, sizeof *s->trials, rb_order_ints);
}

int rb_rung_state_phase(const void *state)
{
    const struct rung_state *s = state;
    return s->rung < 0 ? 0 : s->rung;
}
