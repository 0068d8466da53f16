#include "toy.h"

#include "base/text/buf.h"

#include <math.h>

const char toy_parameters[] = "  lr: {distribution: log_uniform, min: 1.0e-4, max: 1.0}\n"
                              "  width: {min: 1, max: 32}\n"
                              "  kind: {values: [a, b, c]}\n"
                              "  depth: {min: 0.0, max: 1.0, if: {kind: [b, c]}}\n";

void toy_open(struct toy *t, const char *parameters, const char *sampler, uint64_t seed)
{
    RB_AUTO(rb_buf_finish) struct rb_buf yaml = RB_BUF_INIT;
    struct rb_err err = {0};
    rb_buf_printf(&yaml,
                  "name: toy\nseed: %llu\nmetric: {name: score, goal: maximize}\nparameters:\n%s"
                  "scheduler: {type: random, num_trials: 1000, max_resource: 9, sampler: %s}\n"
                  "resources: {infra: [local]}\nrun: 'true'\n",
                  (unsigned long long)seed, parameters, sampler);
    rb_arena_init(&t->arena);
    if (!rb_doc_parse_yaml(&t->doc, "toy.yaml", rb_buf_str(&yaml), yaml.len, &err) ||
        !rb_job_read(t->doc.root, NULL, 0, &t->arena, &t->job, &err) || !rb_search_create(&t->job, &t->search, &err))
        fail_msg("%s: %s", err.key, err.message);
}

void toy_close(struct toy *t)
{
    rb_search_destroy(t->search);
    rb_arena_finish(&t->arena);
    rb_doc_finish(&t->doc);
}

double toy_score(const struct rb_space *space, const struct rb_value *values, int64_t resource)
{
    struct rb_coordinates c;
    double u[4];
    rb_coordinates_init(&c, space);
    rb_coordinates_of(&c, values, u);
    rb_coordinates_finish(&c);
    const bool is_b = values[2].string[0] == 'b';
    const double lost = pow(u[0] - 0.7, 2) + pow(u[1] - 0.3, 2) + (is_b ? pow(u[3] - 0.8, 2) : 0.2);
    return -lost - 0.3 * (1 / sqrt((double)resource) - 1 / 3.0) * (1 + u[0]);
}

const struct rb_value *toy_suggest(struct toy *t, int trial, struct rb_arena *arena, struct rb_suggestion *out)
{
    rb_search_suggest(t->search, &(struct rb_ask){.trial = trial, .parent = -1, .resource = 1}, arena, out);
    return out->values;
}

double toy_train(struct toy *t, int trial, const struct rb_value *values)
{
    double score = 0;
    rb_search_began(t->search, trial, values, 1);
    for (int64_t r = 1; r <= 9; r *= 3) {
        score = toy_score(&t->job.space, values, r);
        rb_search_reported(t->search, trial, r, score, 1);
    }
    rb_search_changed(t->search, trial, RB_SEEN_ENDED, 0);
    return score;
}

double toy_search(const char *sampler, uint64_t seed, int n_trials)
{
    struct toy t;
    struct rb_arena arena;
    struct rb_suggestion s;
    double best = -INFINITY;
    rb_arena_init(&arena);
    toy_open(&t, toy_parameters, sampler, seed);
    for (int i = 0; i < n_trials; i++, rb_arena_reset(&arena))
        best = fmax(best, toy_train(&t, i, toy_suggest(&t, i, &arena, &s)));
    toy_close(&t);
    rb_arena_finish(&arena);
    return best;
}
