// Many replicates of a plan. They are divided into one piece per thread and written to fixed positions, so the result
// is the same for any number of threads.
#include "simulator/model/workspace.h"

#include "simulator/sampler/table_runs.h"
#include "simulator/stage/pieces.h"

#include <stdlib.h>
#include <string.h>

struct rb_evaluate_options rb_evaluate_defaults(void)
{
    return (struct rb_evaluate_options){.samples = 4096, .deadline_us = -1, .budget_uusd = -1, .threads = 1};
}

// ---- samples

struct samples {
    uint32_t first; // replicate of samples[0]
    int n, n_stages;
    int64_t *time_us, *cost_uusd;             // [n]
    int64_t *stage_time_us, *stage_cost_uusd; // [n_stages][n], NULL: not wanted
};

struct piece {
    const struct rb_program *program;
    struct samples *samples;
    int first, end; // samples
    int fewest;     // made before `stop` counts
    bool (*stop)(void *ctx);
    void *stop_ctx;
    int made;
    bool failed;
    struct rb_err err;
};

static void *run_piece(void *arg)
{
    struct piece *p = arg;
    struct samples *s = p->samples;
    struct rb_workspace *ws = rb_workspace_create();
    struct rb_replicate replicate;
    for (int r = p->first; r < p->end; r++) {
        if (p->stop && p->made >= p->fewest && p->stop(p->stop_ctx))
            break;
        if (!rb_sim_run(ws, p->program, s->first + (uint32_t)r, &replicate, &p->err)) {
            p->failed = true;
            break;
        }
        p->made++;
        s->time_us[r] = replicate.time_us;
        s->cost_uusd[r] = replicate.cost_uusd;
        for (int i = 0; i < s->n_stages && s->stage_time_us; i++) {
            s->stage_time_us[(size_t)i * (size_t)s->n + (size_t)r] = replicate.stage_time_us[i];
            s->stage_cost_uusd[(size_t)i * (size_t)s->n + (size_t)r] = replicate.stage_cost_uusd[i];
        }
    }
    rb_workspace_destroy(ws);
    return NULL;
}

static int clamp_threads(int threads, int n)
{
    const int most = n < RB_THREADS_MAX ? n : RB_THREADS_MAX;
    return threads < 1 ? 1 : threads > most ? most : threads;
}

static void close_up(int64_t *values, const struct piece *pieces, int n_pieces)
{
    int n = 0;
    for (int i = 0; i < n_pieces; i++) {
        memmove(values + n, values + pieces[i].first, (size_t)pieces[i].made * sizeof *values);
        n += pieces[i].made;
    }
}

// Pieces that were stopped leave gaps: the completed replicates move to the front. Returns their number.
static int close_gaps(struct samples *s, const struct piece *pieces, int n_pieces)
{
    int n = 0;
    for (int i = 0; i < n_pieces; i++)
        n += pieces[i].made;
    if (n == s->n)
        return n;
    close_up(s->time_us, pieces, n_pieces);
    close_up(s->cost_uusd, pieces, n_pieces);
    for (int i = 0; i < s->n_stages && s->stage_time_us; i++) {
        close_up(s->stage_time_us + (size_t)i * (size_t)s->n, pieces, n_pieces);
        close_up(s->stage_cost_uusd + (size_t)i * (size_t)s->n, pieces, n_pieces);
    }
    return n;
}

// *out_made: fewer than s->n if opt->stop ended the evaluation.
static bool run_all(const struct rb_program *program, struct samples *s, const struct rb_evaluate_options *opt,
                    int *out_made, struct rb_err *err)
{
    struct piece pieces[RB_THREADS_MAX];
    const int n_pieces = clamp_threads(opt->threads, s->n);
    for (int i = 0; i < n_pieces; i++)
        pieces[i] = (struct piece){.program = program,
                                   .samples = s,
                                   .first = (int)((int64_t)s->n * i / n_pieces),
                                   .end = (int)((int64_t)s->n * (i + 1) / n_pieces),
                                   .fewest = (RB_EVALUATE_FEWEST + n_pieces - 1) / n_pieces,
                                   .stop = opt->stop,
                                   .stop_ctx = opt->stop_ctx};
    rb_pieces_run(run_piece, pieces, sizeof pieces[0], n_pieces, n_pieces);
    for (int i = 0; i < n_pieces; i++) {
        if (!pieces[i].failed)
            continue;
        if (err)
            *err = pieces[i].err;
        return false;
    }
    *out_made = close_gaps(s, pieces, n_pieces);
    return true;
}

// ---- estimates

bool rb_evaluate_runs(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                      const struct rb_evaluate_options *opt, int64_t *out_time_us, int64_t *out_cost_uusd,
                      struct rb_err *err)
{
    struct rb_program program;
    struct samples samples = {
        .first = opt->first, .n = opt->samples, .time_us = out_time_us, .cost_uusd = out_cost_uusd};
    struct rb_evaluate_options all = *opt;
    int made;
    if (opt->tables && rb_table_runs_apply(s, stages, n_stages, 0, opt->tables)) {
        const struct rb_table_runs runs = {.first = opt->first, .n = opt->samples, .threads = opt->threads};
        return rb_table_runs_of_plan(s, stages, n_stages, &runs, opt->tables, out_time_us, out_cost_uusd, err);
    }
    all.stop = NULL;
    return rb_program_compile(s, stages, n_stages, &program, err) && run_all(&program, &samples, &all, &made, err);
}

static bool evaluate_from_tables(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                                 const struct rb_evaluate_options *opt, struct rb_estimate *out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) int64_t *values = rb_xcalloc(2 * (size_t)opt->samples, sizeof *values);
    if (!rb_evaluate_runs(s, stages, n_stages, opt, values, values + opt->samples, err))
        return false;
    *out = rb_estimate_of_runs(values, values + opt->samples, opt->samples, opt->deadline_us, opt->budget_uusd);
    out->time_method = out->cost_method = RB_ESTIMATE_TABLES;
    out->spread_unknown = rb_profile_spread_is_unknown(s->profile);
    return true;
}

bool rb_evaluate(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                 const struct rb_evaluate_options *opt, struct rb_estimate *out, struct rb_plan_stage *out_stages,
                 struct rb_err *err)
{
    struct rb_program program;
    int made;
    if (opt->samples < 1)
        return rb_err_set(err, RB_E_OPTION_VALUE, "expected at least one sample, got %d", opt->samples);
    if (opt->tables && !out_stages && rb_table_runs_apply(s, stages, n_stages, 0, opt->tables))
        return evaluate_from_tables(s, stages, n_stages, opt, out, err);
    if (!rb_program_compile(s, stages, n_stages, &program, err))
        return false;
    const size_t n = (size_t)opt->samples, n_staged = out_stages ? n * (size_t)n_stages : 0;
    RB_AUTO(rb_auto_free) int64_t *memory = rb_xcalloc(2 * (n + n_staged), sizeof *memory);
    struct samples samples = {
        .first = opt->first,
        .n = opt->samples,
        .n_stages = n_stages,
        .time_us = memory,
        .cost_uusd = memory + n,
        .stage_time_us = out_stages ? memory + 2 * n : NULL,
        .stage_cost_uusd = out_stages ? memory + 2 * n + n_staged : NULL,
    };
    if (!run_all(&program, &samples, opt, &made, err))
        return false;
    for (int i = 0; i < n_stages && out_stages; i++) {
        out_stages[i].time_us = rb_quantiles_of(samples.stage_time_us + (size_t)i * n, made);
        out_stages[i].cost_uusd = rb_quantiles_of(samples.stage_cost_uusd + (size_t)i * n, made);
    }
    *out = rb_estimate_of_runs(samples.time_us, samples.cost_uusd, made, opt->deadline_us, opt->budget_uusd);
    out->spread_unknown = rb_profile_spread_is_unknown(s->profile);
    return true;
}
