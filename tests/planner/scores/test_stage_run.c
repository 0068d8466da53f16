// Stages by themselves add up to whole plans, and noise that is kept changes nothing.
#include "case.h"

#include "simulator/stage/stage_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_CASES 200
#define SAMPLES 16

struct plan {
    struct rb_plan_stage stages[RB_LIMIT_STAGES];
    struct rb_plan_nodes nodes[RB_LIMIT_STAGES];
    int n;
};

static bool open_scenario(struct rb_case *c, struct rb_scenario *s)
{
    struct rb_offer *offers;
    struct rb_err err = {0};
    int n;
    if (!rb_planner_offers(&c->job, &c->catalog, &c->arena, &offers, &n, &err) ||
        !rb_scenario_init(s, &c->job, &c->profile, offers, n, &c->catalog, c->req.seed, &err))
        fail_msg("%s", err.message);
    return true;
}

// Every stage on an offer and a size of its own choice, with nodes for at least one trial.
static bool random_plan(const struct rb_scenario *s, struct rb_stream *stream, struct plan *out)
{
    memset(out, 0, sizeof *out);
    out->n = s->stages.n;
    for (int i = 0; i < out->n; i++) {
        int sizes[RB_LIMIT_GPUS_PER_NODE], offer = (int)rb_stream_below(stream, (uint64_t)s->n_offers);
        int n_sizes = rb_planner_sizes(s, offer, sizes);
        if (n_sizes == 0)
            return false;
        int size = sizes[rb_stream_below(stream, (uint64_t)n_sizes)], per_node = s->offers[offer].gpus;
        int least = (size + per_node - 1) / per_node;
        out->nodes[i] = (struct rb_plan_nodes){offer, least + (int)rb_stream_below(stream, 3)};
        out->stages[i] = (struct rb_plan_stage){
            .trials = s->stages.rungs[i].trials,
            .resource_start = s->stages.rungs[i].resource_start,
            .resource_end = s->stages.rungs[i].resource_end,
            .gpus_per_trial = size,
            .trials_per_gpu = 1,
            .nodes = &out->nodes[i],
            .n_nodes = 1,
        };
    }
    return true;
}

static int kept_nodes(const struct plan *p, int stage)
{
    if (stage == 0 || p->nodes[stage - 1].offer != p->nodes[stage].offer)
        return 0;
    return p->nodes[stage - 1].count < p->nodes[stage].count ? p->nodes[stage - 1].count : p->nodes[stage].count;
}

struct tally {
    int n_replicates, n_equal;
};

// A node inherited while it still boots is the only thing stages by themselves do not know: then the plan takes longer,
// never less. The cost differs by what rounding up to the second and the 60 s minimum add.
static void check_plan(const struct rb_scenario *s, const struct plan *p, struct rb_workspace *ws, struct tally *tally)
{
    double time_us[SAMPLES] = {0}, cost_uusd[SAMPLES] = {0};
    struct rb_err err = {0};
    for (int i = 0; i < p->n; i++) {
        double t[SAMPLES], c[SAMPLES];
        const struct rb_stage_runs runs = {
            .n_kept = kept_nodes(p, i), .n = SAMPLES, .until_us = RB_STAGE_RUN_TO_THE_END};
        if (!rb_stage_run(s, i, &p->stages[i], &runs, ws, t, c, &err))
            fail_msg("%s", err.message);
        for (int r = 0; r < SAMPLES; r++) {
            time_us[r] += t[r];
            cost_uusd[r] += c[r];
        }
    }
    for (int r = 0; r < SAMPLES; r++) {
        struct rb_replicate whole;
        assert_true(rb_replicate_run(s, p->stages, p->n, (uint32_t)r, ws, &whole, &err));
        assert_true((double)whole.time_us >= time_us[r]);
        tally->n_replicates++;
        if ((double)whole.time_us > time_us[r])
            continue;
        tally->n_equal++;
        int n_nodes = 0;
        double highest = 0;
        for (int i = 0; i < p->n; i++) {
            n_nodes += p->nodes[i].count - kept_nodes(p, i);
            highest = fmax(highest, (double)s->offers[p->nodes[i].offer].rate.uusd_per_hour);
        }
        assert_true(cost_uusd[r] <= (double)whole.cost_uusd + n_nodes * (highest / 7200 + 1));
        assert_true(cost_uusd[r] >= (double)whole.cost_uusd - n_nodes * (highest / 60 + 1));
    }
}

static void stages_add_up_to_plans(void **state)
{
    struct tally tally = {0};
    struct rb_workspace *ws = rb_workspace_create();
    (void)state;
    for (uint32_t i = 0; i < N_CASES; i++) {
        struct rb_case c;
        struct rb_scenario s;
        struct rb_stream stream;
        struct plan plan;
        case_random(&c, i);
        open_scenario(&c, &s);
        rb_stream_init(&stream, &(struct rb_stream_key){.seed = 3, .purpose = RB_DRAW_SEARCH, .index = i});
        for (int k = 0; k < 5; k++) {
            if (random_plan(&s, &stream, &plan))
                check_plan(&s, &plan, ws, &tally);
        }
        rb_scenario_finish(&s);
        case_finish(&c);
    }
    rb_workspace_destroy(ws);
    print_message("%d replicates, %d with every inherited node ready\n", tally.n_replicates, tally.n_equal);
    assert_true(tally.n_equal > tally.n_replicates / 2 && tally.n_equal < tally.n_replicates);
}

static void kept_noise_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        struct rb_case c;
        struct rb_scenario s;
        struct rb_stream stream;
        struct plan plan;
        struct rb_estimate fresh, kept;
        struct rb_err err = {0};
        case_random(&c, i);
        open_scenario(&c, &s);
        rb_stream_init(&stream, &(struct rb_stream_key){.seed = 4, .purpose = RB_DRAW_SEARCH, .index = i});
        if (random_plan(&s, &stream, &plan)) {
            struct rb_evaluate_options opt = rb_evaluate_defaults();
            opt.samples = 64;
            assert_true(rb_evaluate(&s, plan.stages, plan.n, &opt, &fresh, NULL, &err));
            rb_scenario_keep_noise(&s, 48, RB_KEPT_NOISE_BYTES); // the rest is drawn again
            opt.threads = 2;
            for (int again = 0; again < 2; again++) {
                assert_true(rb_evaluate(&s, plan.stages, plan.n, &opt, &kept, NULL, &err));
                assert_memory_equal(&fresh, &kept, sizeof fresh);
            }
        }
        rb_scenario_finish(&s);
        case_finish(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_add_up_to_plans),
        cmocka_unit_test(kept_noise_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
