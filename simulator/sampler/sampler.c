// Compiles a plan into a program: the stages in which each node is owned, and a table for every law. Blocks of
// replicates are divided into pieces for threads and written to fixed positions.
#include "simulator/sampler/sampler.h"

#include "simulator/model/draws.h"
#include "simulator/model/program.h"
#include "simulator/sampler/sampler_program.h"
#include "simulator/sampler/sampler_tables.h"
#include "simulator/stage/pieces.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_A_THREAD 8
#define FIRST_OF_CONFIGURATIONS 0x80000u // likewise, one for the first trial of each bracket
#define FIRST_OF_ERRORS 0x100000u // streams of shared errors; those of stages are before them

struct rb_sampler {
    struct rb_sampler_program program;
    rb_sampler_block_fn *run_block;
    int threads;
    struct rb_sampler_tables *tables, *own_tables; // the caller's or own; NULL: not own
};

struct rb_sampler_options rb_sampler_defaults(void)
{
    return (struct rb_sampler_options){.waves = RB_WAVES_DYNAMIC, .isa = RB_SAMPLER_AUTO, .threads = 1, .seed = 1};
}

// ---- which kernel

struct kernel {
    enum rb_sampler_isa isa;
    rb_sampler_block_fn *run_block;
};

// Best first.
static const struct kernel kernels[] = {
#ifdef RB_SAMPLER_HAS_AVX2
    {RB_SAMPLER_AVX2, rb_sampler_block_avx2},
#endif
    {RB_SAMPLER_SCALAR, rb_sampler_block_scalar},
};

static bool runs_here(enum rb_sampler_isa isa)
{
#ifdef RB_SAMPLER_HAS_AVX2
    if (isa == RB_SAMPLER_AVX2)
        return __builtin_cpu_supports("avx2");
#endif
    return isa == RB_SAMPLER_SCALAR;
}

static bool choose_kernel(enum rb_sampler_isa isa, rb_sampler_block_fn **out, struct rb_err *err)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if ((isa == RB_SAMPLER_AUTO || isa == kernels[i].isa) && runs_here(kernels[i].isa)) {
            *out = kernels[i].run_block;
            return true;
        }
    }
    return rb_err_set(
        err, RB_E_SAMPLER_LIMIT,
        "this processor, or this build, has not the instruction set asked for: ask for the scalar sampler");
}

// ---- the stages in which each node is owned

struct owned_node {
    int number, offer, from; // number -1: inherited
};

struct ownership {
    struct owned_node *owned; // ascending numbers
    int n_owned, cap;
    struct rb_sampler_program *program;
    const struct rb_scenario *scenario;
    int spans_cap;
};

static double usd_per_second(const struct rb_billing *billing)
{
    return (double)rb_bill_uusd_per_hour(billing) / (double)RB_UUSD / (double)RB_S_PER_HOUR;
}

// Nodes that end together are added in sequence, so that those of one request form a span.
static void add_life(struct ownership *o, const struct owned_node *node, int to)
{
    struct rb_sampler_program *p = o->program;
    const struct rb_billing *billing = &o->scenario->sim_offers[node->offer].billing;
    struct rb_sampler_span *last = p->n_spans > 0 ? &p->spans[p->n_spans - 1] : NULL;
    const struct rb_sampler_span span = {
        .first = node->number,
        .n = 1,
        .from = node->from,
        .to = to,
        .usd_per_s = usd_per_second(billing),
        .usd_per_node = (double)rb_bill_uusd_per_node(billing) / (double)RB_UUSD,
        .offer = node->offer,
    };
    if (node->number < 0)
        return;
    if (last && last->to == to && last->from == node->from && last->offer == node->offer &&
        last->first + last->n == node->number) {
        last->n++;
        return;
    }
    if (p->n_spans == o->spans_cap) {
        o->spans_cap = o->spans_cap ? 2 * o->spans_cap : 16;
        p->spans = rb_xrealloc(p->spans, (size_t)o->spans_cap, sizeof *p->spans);
    }
    p->spans[p->n_spans++] = span;
}

static bool take_one(int *missing, const struct rb_plan_stage *plan, int offer)
{
    for (int i = 0; i < plan->n_nodes; i++) {
        if (plan->nodes[i].offer == offer && missing[i] > 0) {
            missing[i]--;
            return true;
        }
    }
    return false;
}

// The same as simulator/cluster/cluster.c does replicate by replicate: lowest numbers are kept, and missing nodes are
// requested in the order of the stage's entries. Without preemption and early requests this does not depend on draws.
static void allocate(struct ownership *o, const struct rb_plan_stage *plan, int s, int *missing)
{
    int kept = 0;
    for (int i = 0; i < plan->n_nodes; i++)
        missing[i] = plan->nodes[i].count;
    for (int i = 0; i < o->n_owned; i++) {
        if (take_one(missing, plan, o->owned[i].offer))
            o->owned[kept++] = o->owned[i];
        else
            add_life(o, &o->owned[i], s);
    }
    o->n_owned = kept;
    o->program->stages[s].end_of_spans = o->program->n_spans;
    o->program->stages[s].n_kept = kept;
}

// Shared by all stages: the kind of the error, and its index within the kind.
static struct rb_sampler_error error_of(struct rb_sampler *sampler, const struct rb_dist *error,
                                        enum rb_purpose purpose, int index)
{
    if (!(rb_dist_variance(error) > 0))
        return (struct rb_sampler_error){0};
    return (struct rb_sampler_error){rb_sampler_tables_dist(sampler->tables, error),
                                     FIRST_OF_ERRORS + ((uint32_t)purpose << 16) + (uint32_t)index};
}

static bool request(struct ownership *o, struct rb_sampler *sampler, int offer, int n, int s, struct rb_err *err)
{
    struct rb_sampler_program *p = o->program;
    const struct rb_sim_offer *sim = &o->scenario->sim_offers[offer];
    const struct rb_provisioning *provisioning = sim->provisioning;
    const int entry = rb_draw_provisioning_entry(o->scenario, offer);
    if (n > RB_LIMIT_NODES - p->n_nodes)
        return rb_err_set(err, RB_E_SCENARIO_SIZE, "stages[%d]: more than %d nodes are requested in one run", s,
                          RB_LIMIT_NODES);
    if (o->n_owned + n > o->cap) {
        o->cap = 2 * (o->n_owned + n);
        o->owned = rb_xrealloc(o->owned, (size_t)o->cap, sizeof *o->owned);
    }
    for (int k = 0; k < n; k++)
        o->owned[o->n_owned++] = (struct owned_node){.number = p->n_nodes + k, .offer = offer, .from = s};
    p->requests = rb_xrealloc(p->requests, (size_t)p->n_requests + 1, sizeof *p->requests);
    p->requests[p->n_requests++] = (struct rb_sampler_request){
        .first = p->n_nodes,
        .n = n,
        .queue = rb_sampler_tables_dist(sampler->tables, &provisioning->queue_s),
        .init = rb_sampler_tables_dist(sampler->tables, &provisioning->init_s),
        .queue_error = error_of(sampler, &sim->queue_error, RB_DRAW_QUEUE_ERROR, entry),
        .init_error = error_of(sampler, &sim->init_error, RB_DRAW_INIT_ERROR, entry),
        .reading = sim->reading ? rb_sampler_tables_dist(sampler->tables, &sim->reading->read_s) : NULL,
        .reading_error = error_of(sampler, &sim->reading_error, RB_DRAW_READING_ERROR,
                                  sim->reading ? (int)(sim->reading - o->scenario->profile->readings) : 0),
        .reading_scale = (float)sim->reading_scale,
        .data_s = (float)((double)sim->data_us / RB_US_PER_S),
        .refused = (uint32_t)(provisioning->capacity_failure * 0x1p31),
    };
    p->n_nodes += n;
    p->stages[s].n_requests++;
    p->stages[s].n_new += n;
    return true;
}

static bool refuse_early(int stage, struct rb_err *err)
{
    return rb_err_set(err, RB_E_SAMPLER_LIMIT,
                      "stages[%d]: nodes requested early are only sampled from tables where they are all that the next "
                      "stage gains, of one offer; use rb_evaluate",
                      stage);
}

// When the missing nodes of a stage were requested in the previous stage; INFINITY: at its start.
static bool find_early(const struct rb_program *from, int s, const int *missing, float *out_at_s, struct rb_err *err)
{
    const struct rb_plan_stage *plan = from->stages[s].plan, *before = s > 0 ? from->stages[s - 1].plan : NULL;
    *out_at_s = INFINITY;
    if (s + 1 == from->n_stages && plan->n_early > 0)
        return refuse_early(s, err);
    if (!before || before->n_early == 0)
        return true;
    if (before->n_early > 1 || plan->n_nodes > 1 || before->early->offer != plan->nodes[0].offer ||
        before->early->count != missing[0])
        return refuse_early(s - 1, err);
    *out_at_s = (float)((double)before->early->at_us / RB_US_PER_S);
    return true;
}

static bool allocate_stage(struct ownership *o, struct rb_sampler *sampler, const struct rb_program *from, int s,
                           struct rb_err *err)
{
    const struct rb_plan_stage *plan = from->stages[s].plan;
    struct rb_sampler_stage *stage = &o->program->stages[s];
    RB_AUTO(rb_auto_free) int *missing = rb_xcalloc((size_t)plan->n_nodes, sizeof *missing);
    stage->first_request = o->program->n_requests;
    stage->first_new = o->program->n_nodes;
    allocate(o, plan, s, missing);
    if (!find_early(from, s, missing, &stage->early_at_s, err))
        return false;
    for (int i = 0; i < plan->n_nodes; i++) {
        if (missing[i] > 0 && !request(o, sampler, plan->nodes[i].offer, missing[i], s, err))
            return false;
    }
    return true;
}

// ---- a plan becomes a program

static int64_t min_count(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_slots(struct rb_sampler_stage *stage, const struct rb_stage_program *from)
{
    const int n_nodes = stage->n_kept + stage->n_new;
    stage->n_trials = from->n_trials;
    stage->slots_per_node = from->trials_per_node > 0 ? from->trials_per_node : 1;
    stage->nodes_per_slot = from->nodes_per_trial;
    stage->n_slots = (int)min_count((int64_t)n_nodes * stage->slots_per_node / stage->nodes_per_slot, stage->n_trials);
}

static void set_trial(struct rb_sampler *sampler, const struct rb_scenario *s, const struct rb_stage_program *from,
                      int number, struct rb_sampler_stage *stage)
{
    const struct rb_sim_offer *o = &s->sim_offers[from->plan->nodes[0].offer];
    stage->measurement = error_of(sampler, &o->measurement, RB_DRAW_MEASUREMENT, 0);
    stage->startup_error = error_of(sampler, &s->startup_error, RB_DRAW_STARTUP_ERROR, 0);
    stage->configurations = FIRST_OF_CONFIGURATIONS + (uint32_t)rb_scenario_trial(s, number, 0);
    stage->checkpoint_error = error_of(sampler, &s->checkpoint_error, RB_DRAW_CHECKPOINT_ERROR, 0);
    rb_sampler_tables_of_trial(sampler->tables, s->profile, from->units, from->unit_s,
                               rb_scenario_draws_in_parts(s, from->plan->nodes[0].offer), &stage->trial);
}

static void inherit(struct ownership *o, int offer, int n)
{
    o->cap = o->n_owned = n;
    o->owned = rb_xcalloc((size_t)n, sizeof *o->owned);
    for (int k = 0; k < n; k++)
        o->owned[k] = (struct owned_node){.number = -1, .offer = offer};
}

static bool fill_stages(struct rb_sampler *sampler, struct ownership *o, const struct rb_program *from, int n_inherited,
                        struct rb_err *err)
{
    struct rb_sampler_program *p = &sampler->program;
    if (n_inherited > 0)
        inherit(o, from->stages[0].plan->nodes[0].offer, n_inherited);
    for (int s = 0; s < p->n_stages; s++) {
        const struct rb_stage_program *stage = &from->stages[s];
        if (!allocate_stage(o, sampler, from, s, err))
            return false;
        set_slots(&p->stages[s], stage);
        if (p->stages[s].n_slots > p->max_slots)
            p->max_slots = p->stages[s].n_slots;
        set_trial(sampler, from->scenario, stage, p->first_stage + s, &p->stages[s]);
    }
    for (int i = 0; i < o->n_owned; i++)
        add_life(o, &o->owned[i], p->n_stages);
    return true;
}

static bool fill(struct rb_sampler *sampler, const struct rb_scenario *s, const struct rb_program *from,
                 int n_inherited, struct rb_err *err)
{
    struct ownership o = {.program = &sampler->program, .scenario = s};
    const bool ok = fill_stages(sampler, &o, from, n_inherited, err);
    free(o.owned);
    return ok;
}

struct rb_sampler *rb_sampler_create(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages,
                                     const struct rb_sampler_options *opt, struct rb_err *err)
{
    struct rb_program from;
    rb_sampler_block_fn *run_block = rb_sampler_block_scalar;
    if (!choose_kernel(opt->isa, &run_block, err) || !rb_program_compile(s, stages, n_stages, &from, err))
        return NULL;
    if (from.loses_nodes) {
        rb_err_set(err, RB_E_SAMPLER_LIMIT,
                   "nodes may be taken back: that is not sampled from tables; use rb_evaluate");
        return NULL;
    }
    struct rb_sampler *sampler = rb_xcalloc(1, sizeof *sampler);
    *sampler = (struct rb_sampler){
        .program = {.seed = opt->seed,
                    .waves = opt->waves,
                    .wait_for_all = opt->wait_for_all,
                    .by_stage = opt->by_stage,
                    .first_stage = opt->first_stage,
                    .n_stages = n_stages},
        .run_block = run_block,
        .threads = opt->threads,
        .own_tables = opt->tables ? NULL : rb_sampler_tables_create(NULL),
    };
    sampler->tables = opt->tables ? opt->tables : sampler->own_tables;
    if (fill(sampler, s, &from, opt->n_inherited, err))
        return sampler;
    rb_sampler_destroy(sampler);
    return NULL;
}

void rb_sampler_destroy(struct rb_sampler *sampler)
{
    if (!sampler)
        return;
    rb_sampler_tables_destroy(sampler->own_tables);
    free(sampler->program.requests);
    free(sampler->program.spans);
    free(sampler);
}

// ---- replicates

struct piece {
    const struct rb_sampler *sampler;
    uint32_t first; // replicate that stands at [0]
    int begin, end; // positions
    const struct rb_sampler_runs *out;
};

// Rows of lanes are aligned to half cache lines: no row spans two.
static void *alloc_rows(size_t n_float_rows, size_t n_double_rows)
{
    const size_t row = RB_SAMPLER_LANES * (n_float_rows * sizeof(float) + n_double_rows * sizeof(double));
    void *memory = aligned_alloc(64, (row + 63) / 64 * 64);
    if (!memory)
        abort();
    return memory;
}

static double *from(double *values, int64_t at)
{
    return values ? values + at : NULL;
}

static void copy_lane(double *to, int64_t at, const double *block, int lane)
{
    if (to)
        to[at] = block[lane];
}

// Of a block that extends beyond the piece, only the part in the piece is copied.
static void run_block_at(const struct piece *piece, const struct rb_sampler_scratch *scratch, uint32_t block)
{
    const struct rb_sampler *sampler = piece->sampler;
    const struct rb_sampler_runs *out = piece->out;
    const int64_t first = (int64_t)block * RB_SAMPLER_LANES - piece->first;
    if (first >= piece->begin && first + RB_SAMPLER_LANES <= piece->end) {
        const struct rb_sampler_runs here = {from(out->time_s, first), from(out->cost_usd, first),
                                             from(out->linear_usd, first)};
        sampler->run_block(&sampler->program, scratch, block, &here);
        return;
    }
    double lanes[3][RB_SAMPLER_LANES];
    const struct rb_sampler_runs all = {lanes[0], out->cost_usd ? lanes[1] : NULL, out->linear_usd ? lanes[2] : NULL};
    sampler->run_block(&sampler->program, scratch, block, &all);
    for (int lane = 0; lane < RB_SAMPLER_LANES; lane++) {
        const int64_t at = first + lane;
        if (at < piece->begin || at >= piece->end)
            continue;
        copy_lane(out->time_s, at, lanes[0], lane);
        copy_lane(out->cost_usd, at, lanes[1], lane);
        copy_lane(out->linear_usd, at, lanes[2], lane);
    }
}

static void *run_piece(void *arg)
{
    const struct piece *piece = arg;
    const struct rb_sampler_program *p = &piece->sampler->program;
    const size_t n_nodes = (size_t)p->n_nodes, n_slots = (size_t)p->max_slots, n_starts = (size_t)p->n_stages + 1;
    double *memory = alloc_rows(n_slots + 3 * n_nodes, n_starts);
    float *rows = (float *)(memory + n_starts * RB_SAMPLER_LANES);
    const struct rb_sampler_scratch scratch = {
        .stage_start_s = memory,
        .free_s = rows,
        .running_s = rows + n_slots * RB_SAMPLER_LANES,
        .ready_s = rows + (n_slots + n_nodes) * RB_SAMPLER_LANES,
        .openings_s = rows + (n_slots + 2 * n_nodes) * RB_SAMPLER_LANES,
    };
    const int64_t begin = (int64_t)piece->first + piece->begin, end = (int64_t)piece->first + piece->end;
    for (int64_t block = begin / RB_SAMPLER_LANES; block * RB_SAMPLER_LANES < end; block++)
        run_block_at(piece, &scratch, (uint32_t)block);
    free(memory);
    return NULL;
}

// Several pieces per thread: one that is delayed by other programs leaves the rest to the others. A block shared by two
// pieces is run by both, with the same result.
void rb_sampler_run_all(const struct rb_sampler *sampler, uint32_t first, int n, const struct rb_sampler_runs *out)
{
    struct piece pieces[RB_THREADS_MAX * PIECES_A_THREAD];
    const int threads = sampler->threads < 1 ? 1 : (int)min_count(sampler->threads, RB_THREADS_MAX);
    const int wanted = threads == 1 ? 1 : threads * PIECES_A_THREAD;
    const int n_pieces = (int)min_count(wanted, (n + RB_SAMPLER_LANES - 1) / RB_SAMPLER_LANES);
    for (int i = 0; i < n_pieces; i++)
        pieces[i] = (struct piece){.sampler = sampler,
                                   .first = first,
                                   .begin = (int)((int64_t)n * i / n_pieces),
                                   .end = (int)((int64_t)n * (i + 1) / n_pieces),
                                   .out = out};
    rb_pieces_run(run_piece, pieces, sizeof pieces[0], n_pieces, threads);
}

void rb_sampler_run(const struct rb_sampler *sampler, uint32_t first, int n, double *out_time_s, double *out_cost_usd)
{
    rb_sampler_run_all(sampler, first, n, &(struct rb_sampler_runs){.time_s = out_time_s, .cost_usd = out_cost_usd});
}
