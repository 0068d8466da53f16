#include "planner/questions/sensitivity.h"

#include "base/text/units.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SCENARIOS 16
#define US_PER_S      1000000
#define UUSD_PER_CENT 10000

// --- which scenarios

struct asking {
    const char *texts[MAX_SCENARIOS];
    struct rb_sensitivity inputs[MAX_SCENARIOS];
    int n_texts, n_inputs;
    struct rb_arena *arena;
};

// "price", "-20%" -> a scenario of the input.
static void ask(struct asking *a, const char *input, const char *value)
{
    struct rb_sensitivity *last = a->n_inputs > 0 ? &a->inputs[a->n_inputs - 1] : NULL;
    if (!last || strcmp(last->input, input) != 0) {
        last = &a->inputs[a->n_inputs++];
        *last = (struct rb_sensitivity){.input = input, .first = a->n_texts};
    }
    a->texts[a->n_texts++] = rb_arena_printf(a->arena, "%s=%s", input, value);
    last->n++;
}

static int64_t percent_of(int64_t value, int percent, int64_t unit)
{
    return (value / unit * percent + 50) / 100 * unit;
}

static void ask_constraints(struct asking *a, const struct rb_plan_request *base)
{
    static const int percents[] = {90, 110};
    char text[32];
    for (int i = 0; i < 2 && base->deadline_us >= 10 * US_PER_S; i++)
        ask(a, "deadline", rb_format_duration_exact(percent_of(base->deadline_us, percents[i], US_PER_S), text));
    for (int i = 0; i < 2 && base->budget_uusd >= 10 * UUSD_PER_CENT; i++)
        ask(a, "budget", rb_format_money_exact(percent_of(base->budget_uusd, percents[i], UUSD_PER_CENT), text));
}

// Hyperband's number of trials follows from other keys, and so does a grid's if it is not given.
static void ask_trials(struct asking *a, const struct rb_job *job)
{
    const int n = job->scheduler.num_trials, less = (3 * n + 2) / 4, more = (5 * n + 2) / 4;
    if (n > 1 && less < n)
        ask(a, "num_trials", rb_arena_printf(a->arena, "%d", less));
    if (n > 1 && more > n)
        ask(a, "num_trials", rb_arena_printf(a->arena, "%d", more));
}

static bool waits_for_machines(const struct rb_profile *p)
{
    for (int i = 0; i < p->n_provisioning; i++) {
        if (rb_dist_mean(&p->provisioning[i].queue_s) > 0 || rb_dist_mean(&p->provisioning[i].init_s) > 0)
            return true;
    }
    return false;
}

static void ask_all(struct asking *a, const struct rb_plan_request *base)
{
    ask(a, "price", "-20%");
    ask(a, "price", "+20%");
    ask_constraints(a, base);
    ask_trials(a, base->job);
    if (waits_for_machines(base->profile))
        ask(a, "provisioning", "+100%");
    ask(a, "training", "-10%");
    ask(a, "training", "+10%");
}

// --- in order

static void measure(const struct rb_what_if_table *table, struct rb_sensitivity *input)
{
    input->has_effect = table->base.feasible;
    for (int i = input->first; i < input->first + input->n; i++) {
        input->has_effect = input->has_effect && table->rows[i].feasible;
        const int64_t change = llabs(table->rows[i].estimate.cost_uusd.mean - table->base.estimate.cost_uusd.mean);
        input->effect_uusd = change > input->effect_uusd ? change : input->effect_uusd;
    }
}

// A scenario without any plan has the largest effect. Ties keep their original order.
static int compare(const void *a, const void *b)
{
    const struct rb_sensitivity *x = a, *y = b;
    if (x->has_effect != y->has_effect)
        return x->has_effect - y->has_effect;
    if (x->has_effect && x->effect_uusd != y->effect_uusd)
        return x->effect_uusd < y->effect_uusd ? 1 : -1;
    return x->first - y->first;
}

// Scenarios and rows in the order of their inputs.
static void reorder(struct rb_what_if_table *table, struct rb_sensitivity *inputs, int n_inputs, struct rb_arena *arena)
{
    struct rb_what_if *scenarios = rb_arena_array(arena, (size_t)table->n, sizeof *scenarios);
    struct rb_what_if_row *rows = rb_arena_array(arena, (size_t)table->n, sizeof *rows);
    int n = 0;
    for (int i = 0; i < n_inputs; i++) {
        const int from = inputs[i].first;
        inputs[i].first = n;
        for (int k = from; k < from + inputs[i].n; k++, n++) {
            scenarios[n] = table->scenarios[k];
            rows[n] = table->rows[k];
        }
    }
    table->scenarios = scenarios;
    table->rows = rows;
}

bool rb_sensitivity_plan(const struct rb_plan_request *base, const char *planner, struct rb_arena *arena,
                         struct rb_sensitivities *out, struct rb_err *err)
{
    struct asking a = {.arena = arena};
    struct rb_sensitivities s;
    ask_all(&a, base);
    if (!rb_what_if_plan(base, planner, a.texts, a.n_texts, arena, &s.what_if, err))
        return false;
    struct rb_sensitivity *inputs = rb_arena_array(arena, (size_t)a.n_inputs, sizeof *inputs);
    memcpy(inputs, a.inputs, (size_t)a.n_inputs * sizeof *inputs);
    for (int i = 0; i < a.n_inputs; i++)
        measure(&s.what_if, &inputs[i]);
    qsort(inputs, (size_t)a.n_inputs, sizeof *inputs, compare);
    reorder(&s.what_if, inputs, a.n_inputs, arena);
    s.inputs = inputs;
    s.n = a.n_inputs;
    *out = s;
    return true;
}
