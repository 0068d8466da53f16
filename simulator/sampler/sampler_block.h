// The kernel: eight replicates of a plan, one lane each. Included by sampler_scalar.c and sampler_avx2.c, which define
// the lanes; nothing here depends on their implementation. Times are float seconds since the start of the current stage
// (24 bits: a thousandth of a second in five hours); the stages' start times are summed in double.
#ifndef RB_SIMULATOR_SAMPLER_BLOCK_H
#define RB_SIMULATOR_SAMPLER_BLOCK_H

#include "simulator/sampler/sampler_lanes.h"
#include "simulator/sampler/sampler_sort.h"

#include "profiles/catalog/billing.h"

#include <math.h>
#include <string.h>

#define MINIMUM_S    ((float)(RB_BILLING_MINIMUM_US / RB_US_PER_S))
#define WHOLE_SECOND (1 - 0x1p-20F)
#define ROUNDED_UP_S 0.5F // on average
// Merging into R rows costs R log R / 2 exchanges. Starting a trial on heaps costs 8 paths of length log R that no
// branch predictor can predict. The costs are equal for a batch of R / 128 trials.
#define SHORTEST_BATCH  128
#define FIRST_OF_STAGES 256 // streams if every stage has its own; the others precede them

// The state of a block between stages.
struct block {
    const struct rb_sampler_program *p;
    const struct rb_sampler_scratch *scratch;
    struct lane_stream streams[2];            // the second is for draw_largest only
    struct lane_stream configurations;        // of the stage's trials, in the order in which they start
    struct lanes before_s;                    // duration of the previous stage
    struct lanes work_s, startup, checkpoint; // of trials in parts: factors of the current stage, or constants
    bool is_late; // a node is not ready when the current stage starts: every owned node's ready_s holds
    int n_ended;  // spans
    const struct rb_sampler_runs *out;
};

static inline float *row(float *rows, int i)
{
    return rows + (size_t)i * LANES;
}

// The generator is copied out of the block for a loop of draws and back, so that it stays in registers.

// ---- errors that all draws of a replicate share

static inline struct lanes shared_factor(const struct block *b, uint32_t number, const struct rb_sampler_error *error)
{
    if (!error->table)
        return lanes_all(1);
    struct lane_stream g = lane_stream_of(b->p->seed, number, error->stream);
    return draw_lanes(&g, error->table);
}

static inline void set_factors(struct block *b, uint32_t number, const struct rb_sampler_stage *stage)
{
    const struct rb_trial_tables *t = &stage->trial;
    if (t->whole)
        return;
    b->work_s = lanes_times(shared_factor(b, number, &stage->measurement), (float)t->work_s);
    b->startup = lanes_times(shared_factor(b, number, &stage->startup_error), t->startup ? 1 : (float)t->startup_s);
    b->checkpoint =
        lanes_times(shared_factor(b, number, &stage->checkpoint_error), t->checkpoint ? 1 : (float)t->checkpoint_s);
}

// ---- trials

static inline struct lanes times_draw(struct lanes factor, struct lane_stream *g, const struct rb_sampler_table *table)
{
    return table ? lanes_product(factor, draw_lanes(g, table)) : factor;
}

static inline struct lanes draw_parts(struct block *b, struct lane_stream *g, const struct rb_trial_tables *t)
{
    const struct lanes work_s = times_draw(b->work_s, &b->configurations, t->configuration);
    const struct lanes work = times_draw(times_draw(work_s, g, t->between), g, t->within);
    return lanes_add(lanes_add(times_draw(b->startup, g, t->startup), work),
                     times_draw(b->checkpoint, g, t->checkpoint));
}

static inline struct lanes draw_trial(struct block *b, struct lane_stream *g, const struct rb_trial_tables *t)
{
    return t->whole ? draw_lanes(g, t->whole) : draw_parts(b, g, t);
}

static inline struct lanes draw_last_of(struct block *b, const struct rb_trial_tables *t, int n)
{
    if (t->whole)
        return draw_largest(b->streams, t->whole, n);
    struct lane_stream g = b->streams[0];
    struct lanes last = draw_parts(b, &g, t);
    for (int i = 1; i < n; i++)
        last = lanes_max(last, draw_parts(b, &g, t));
    b->streams[0] = g;
    return last;
}

// ---- nodes

// Requests refused at the end of their queueing delay are repeated at once.
static inline struct lanes draw_queue(struct lane_stream *g, const struct rb_sampler_request *request)
{
    struct lanes running = draw_lanes(g, request->queue);
    if (request->refused == 0)
        return running;
    struct words refused = words_below(words_all(UINT32_MAX), next_words(g), request->refused);
    while (words_any(refused)) {
        running = lanes_add(running, lanes_where(refused, draw_lanes(g, request->queue)));
        refused = words_below(refused, next_words(g), request->refused);
    }
    return running;
}

static inline struct lanes draw_reading(struct lane_stream *g, const struct rb_sampler_request *request,
                                        struct lanes error)
{
    return request->reading ? lanes_times(lanes_product(draw_lanes(g, request->reading), error), request->reading_scale)
                            : lanes_all(request->data_s);
}

static inline void request_nodes(struct block *b, uint32_t number, const struct rb_sampler_stage *stage)
{
    const struct lanes ahead = lanes_max(lanes_sub(b->before_s, lanes_all(stage->early_at_s)), lanes_all(0));
    struct lane_stream g = b->streams[0];
    for (int i = 0; i < stage->n_requests; i++) {
        const struct rb_sampler_request *request = &b->p->requests[stage->first_request + i];
        const struct lanes queue_error = shared_factor(b, number, &request->queue_error);
        const struct lanes init_error = shared_factor(b, number, &request->init_error);
        const struct lanes reading_error = shared_factor(b, number, &request->reading_error);
        for (int node = request->first; node < request->first + request->n; node++) {
            const struct lanes running = lanes_sub(lanes_product(draw_queue(&g, request), queue_error), ahead);
            const struct lanes init = lanes_product(draw_lanes(&g, request->init), init_error);
            lanes_store(row(b->scratch->running_s, node), running);
            lanes_store(row(b->scratch->ready_s, node),
                        lanes_add(lanes_add(running, init), draw_reading(&g, request, reading_error)));
        }
    }
    b->streams[0] = g;
}

static inline bool is_owned(const struct rb_sampler_span *span, int s)
{
    return span->from <= s && s < span->to;
}

// Opening times of the nodes that are not ready at the stage's start, into openings_s. Returns their number; the others
// open at once.
static inline int find_openings(struct block *b, int s)
{
    const struct rb_sampler_stage *stage = &b->p->stages[s];
    float *openings_s = b->scratch->openings_s, *ready_s = b->scratch->ready_s;
    int n = 0;
    if (!b->is_late) {
        for (; n < stage->n_new; n++)
            lanes_store(row(openings_s, n), lanes_max(lanes_load(row(ready_s, stage->first_new + n)), lanes_all(0)));
        return n;
    }
    for (int i = 0; i < b->p->n_spans; i++) {
        const struct rb_sampler_span *span = &b->p->spans[i];
        for (int k = 0; k < span->n && is_owned(span, s); k++, n++)
            lanes_store(row(openings_s, n), lanes_max(lanes_load(row(ready_s, span->first + k)), lanes_all(0)));
    }
    return n;
}

// Called if some node is ready only after the stage has ended. Keeps the ready times of all nodes, relative to the
// stage's end.
static inline void carry_late_nodes(struct block *b, int s, struct lanes stage_s)
{
    for (int i = 0; i < b->p->n_spans; i++) {
        const struct rb_sampler_span *span = &b->p->spans[i];
        const bool was_open = span->from < s && !b->is_late;
        for (int k = 0; k < span->n && is_owned(span, s); k++) {
            float *ready_s = row(b->scratch->ready_s, span->first + k);
            lanes_store(ready_s, was_open ? lanes_all(0) : lanes_sub(lanes_load(ready_s), stage_s));
        }
    }
    b->is_late = true;
}

// ---- bills

static inline void bill_data(struct block *b, const struct rb_sampler_span *span, struct lanes alive)
{
    struct lanes n_ran = lanes_all(0);
    for (int node = span->first; node < span->first + span->n; node++) {
        const struct lanes life = lanes_sub(alive, lanes_load(row(b->scratch->running_s, node)));
        n_ran = lanes_add(n_ran, lanes_if_not_negative(life, lanes_all(1)));
    }
    add_to_doubles(b->out->cost_usd, n_ran, span->usd_per_node);
}

static inline struct lanes alive_of(const double *start_s, const struct rb_sampler_span *span, int s)
{
    return difference_of_doubles(start_s + s * LANES, start_s + span->from * LANES);
}

// A node whose request is withdrawn before it runs costs nothing. A lifetime that exceeds a whole second by a relative
// 1e-6 is float rounding of that second: this is common if all latencies but the queueing delay are constants.
static inline void bill_span(struct block *b, const struct rb_sampler_span *span, int s)
{
    const struct lanes alive = alive_of(b->scratch->stage_start_s, span, s);
    struct lanes billed = lanes_all(0);
    for (int node = span->first; node < span->first + span->n; node++) {
        const struct lanes life = lanes_sub(alive, lanes_load(row(b->scratch->running_s, node)));
        const struct lanes whole = lanes_ceil(lanes_times(life, WHOLE_SECOND));
        billed = lanes_add(billed, lanes_if_not_negative(life, lanes_max(whole, lanes_all(MINIMUM_S))));
    }
    add_to_doubles(b->out->cost_usd, billed, span->usd_per_s);
    if (span->usd_per_node > 0)
        bill_data(b, span, alive);
}

// Linear in times: a node that would start running only after its end has a negative cost.
static inline void bill_linearly(struct block *b, const struct rb_sampler_span *span, int s)
{
    struct lanes alive = lanes_add(alive_of(b->scratch->stage_start_s, span, s), lanes_all(ROUNDED_UP_S));
    struct lanes billed = lanes_times(alive, (float)span->n);
    for (int node = span->first; node < span->first + span->n; node++)
        billed = lanes_sub(billed, lanes_load(row(b->scratch->running_s, node)));
    add_to_doubles(b->out->linear_usd, billed, span->usd_per_s);
    add_to_doubles(b->out->linear_usd, lanes_all((float)span->n), span->usd_per_node);
}

static inline void bill_ended(struct block *b, int s)
{
    const int end = s < b->p->n_stages ? b->p->stages[s].end_of_spans : b->p->n_spans;
    for (; b->n_ended < end; b->n_ended++) {
        if (b->out->cost_usd)
            bill_span(b, &b->p->spans[b->n_ended], s);
        if (b->out->linear_usd)
            bill_linearly(b, &b->p->spans[b->n_ended], s);
    }
}

// ---- slots

// A stage's slots, in the order of their opening times.
struct slots {
    const struct rb_sampler_stage *stage;
    int n_open_nodes;
    const float *openings_s; // of the nodes after them, ascending
};

static inline int node_of_slot(const struct rb_sampler_stage *stage, int slot)
{
    return stage->nodes_per_slot == 1 ? slot / stage->slots_per_node : (slot + 1) * stage->nodes_per_slot - 1;
}

static inline int n_slots_of_nodes(const struct rb_sampler_stage *stage, int n_nodes)
{
    const int64_t n = (int64_t)n_nodes * stage->slots_per_node / stage->nodes_per_slot;
    return n < stage->n_slots ? (int)n : stage->n_slots;
}

static inline struct lanes slot_opening(const struct slots *slots, int slot)
{
    const int node = node_of_slot(slots->stage, slot);
    return node < slots->n_open_nodes ? lanes_all(0)
                                      : lanes_load(slots->openings_s + (size_t)(node - slots->n_open_nodes) * LANES);
}

// ---- waves

// One trial per slot: the slots of one node share their opening time.
static inline struct lanes run_one_wave(struct block *b, const struct slots *slots)
{
    const struct rb_sampler_stage *stage = slots->stage;
    const int n_open = n_slots_of_nodes(stage, slots->n_open_nodes);
    struct lanes end = lanes_all(0);
    if (n_open > 0)
        end = draw_last_of(b, &stage->trial, n_open);
    for (int slot = n_open; slot < stage->n_slots; slot += stage->slots_per_node) {
        const int left = stage->n_slots - slot, n = left < stage->slots_per_node ? left : stage->slots_per_node;
        end = lanes_max(end, lanes_add(slot_opening(slots, slot), draw_last_of(b, &stage->trial, n)));
    }
    return end;
}

__attribute__((noinline)) static struct lanes run_equal_chains(struct block *b, const struct rb_trial_tables *trial,
                                                               int n_slots, int n_trials)
{
    struct lane_stream g = b->streams[0];
    struct lanes end = lanes_all(0);
    for (int slot = 0; slot < n_slots; slot++) {
        struct lanes at = draw_trial(b, &g, trial);
        for (int k = 1; k < n_trials; k++)
            at = lanes_add(at, draw_trial(b, &g, trial));
        end = lanes_max(end, at);
    }
    b->streams[0] = g;
    return end;
}

// Slots from this one on that open together: those of one node, or all that are open at the start.
static inline int n_slots_opening_with(const struct slots *slots, int slot)
{
    const int n_open = n_slots_of_nodes(slots->stage, slots->n_open_nodes);
    const int per_node = slots->stage->slots_per_node;
    return slot < n_open ? n_open - slot : per_node - slot % per_node;
}

static inline struct lanes run_chains(struct block *b, const struct slots *slots)
{
    const struct rb_sampler_stage *stage = slots->stage;
    const int n_full = stage->n_trials / stage->n_slots, n_longer = stage->n_trials % stage->n_slots;
    if (stage->n_trials == stage->n_slots)
        return run_one_wave(b, slots);
    struct lanes end = lanes_all(0);
    for (int slot = 0, n; slot < stage->n_slots; slot += n) {
        const bool is_longer = slot < n_longer;
        const int until = is_longer ? n_longer : stage->n_slots, together = n_slots_opening_with(slots, slot);
        n = together < until - slot ? together : until - slot;
        const struct lanes chains = run_equal_chains(b, &stage->trial, n, n_full + is_longer);
        end = lanes_max(end, lanes_add(slot_opening(slots, slot), chains));
    }
    return end;
}

// ---- the dynamic schedule

// Starts trials on the slots in order while no trial of this batch can have ended: the order in which slots become free
// is then known without looking at ends. Returns the number started; their slots' rows hold their ends.
static inline int start_batch(struct block *b, const struct rb_sampler_stage *stage, int n, struct lanes *out_last)
{
    struct lane_stream g = b->streams[0];
    struct lanes first_end = lanes_all(INFINITY), last_end = lanes_all(0);
    int k = 0;
    for (; k < n; k++) {
        float *slot = row(b->scratch->free_s, k);
        const struct lanes start = lanes_load(slot);
        if (lanes_any_above(start, first_end))
            break;
        const struct lanes done = lanes_add(start, draw_trial(b, &g, &stage->trial));
        first_end = lanes_min(first_end, done);
        last_end = lanes_max(last_end, done);
        lanes_store(slot, done);
    }
    b->streams[0] = g;
    *out_last = last_end;
    return k;
}

// The time at the top of a heap has increased.
static inline void sift_down(float *heap, int n)
{
    const float moved = heap[0];
    int at = 0;
    for (int child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && heap[(child + 1) * LANES] < heap[child * LANES])
            child++;
        if (heap[child * LANES] >= moved)
            break;
        heap[at * LANES] = heap[child * LANES];
        at = child;
    }
    heap[at * LANES] = moved;
}

// Trial by trial, with one heap per lane; sorted rows are a heap.
static inline struct lanes run_on_heaps(struct block *b, const struct rb_sampler_stage *stage, int n_slots,
                                        int n_trials)
{
    float *free_s = b->scratch->free_s;
    struct lanes end = lanes_all(0);
    for (int k = 0; k < n_trials; k++) {
        const struct lanes done = lanes_add(lanes_load(free_s), draw_trial(b, &b->streams[0], &stage->trial));
        end = lanes_max(end, done);
        lanes_store(free_s, done);
        for (int lane = 0; lane < LANES; lane++)
            sift_down(free_s + lane, n_slots);
    }
    return end;
}

// The first of n sorted rows, from m on, that is not before `last` in any lane.
static inline int first_row_after(const float *rows, int m, int n, struct lanes last)
{
    while (m < n && lanes_any_above(last, lanes_load(rows + (size_t)m * LANES)))
        m++;
    return m;
}

// Starts a batch on sorted slots, and sorts them again as far as the ends reach. If the batch was too short to pay for
// the sorting (few nodes are ready yet, or durations vary more than tenfold), some more trials are started on heaps;
// the result does not depend on it. Returns the number of trials started.
static inline int run_some(struct block *b, const struct rb_sampler_stage *stage, int n_slots, int left,
                           struct lanes *end)
{
    float *free_s = b->scratch->free_s;
    struct lanes last;
    const int started = start_batch(b, stage, n_slots, &last);
    *end = lanes_max(*end, last);
    if (started == left)
        return started;
    const int reach = first_row_after(free_s, started, n_slots, last);
    sort_first_rows_in(free_s, started, reach);
    if (started * SHORTEST_BATCH >= reach)
        return started;
    const int wanted = n_slots / 4 + 16, n = wanted < left - started ? wanted : left - started;
    *end = lanes_max(*end, run_on_heaps(b, stage, n_slots, n));
    sort_rows(free_s, n_slots);
    return started + n;
}

// Slots are interchangeable: only the times when they become free matter, and only as many of them as there are trials
// left. Trials of a stage that is run twice (run_late_stage) are drawn one by one both times.
static inline struct lanes run_dynamic(struct block *b, const struct slots *slots)
{
    const struct rb_sampler_stage *stage = slots->stage;
    struct lanes end = lanes_all(0);
    if (!b->is_late && n_slots_of_nodes(stage, slots->n_open_nodes) == stage->n_trials)
        return run_one_wave(b, slots);
    for (int slot = 0; slot < stage->n_slots; slot++)
        lanes_store(row(b->scratch->free_s, slot), slot_opening(slots, slot));
    for (int left = stage->n_trials; left > 0;)
        left -= run_some(b, stage, left < stage->n_slots ? left : stage->n_slots, left, &end);
    return end;
}

// ---- a block

static inline struct lanes run_waves(struct block *b, const struct slots *slots)
{
    return b->p->waves == RB_WAVES_CHAINS ? run_chains(b, slots) : run_dynamic(b, slots);
}

static inline struct lanes latest_of(const float *openings_s, int n)
{
    struct lanes latest = lanes_all(0);
    for (int i = 0; i < n; i++)
        latest = lanes_max(latest, lanes_load(openings_s + (size_t)i * LANES));
    return latest;
}

// Duration of a stage on nodes of which some are late or not ready at its start. *out_latest: when the last one is
// ready.
static inline struct lanes run_stage_on(struct block *b, int s, struct lanes *out_latest)
{
    const struct rb_sampler_stage *stage = &b->p->stages[s];
    const int n_nodes = stage->n_kept + stage->n_new, n_late = find_openings(b, s);
    struct slots slots = {.stage = stage, .n_open_nodes = n_nodes - n_late, .openings_s = b->scratch->openings_s};
    *out_latest = latest_of(slots.openings_s, n_late);
    if (b->p->wait_for_all) {
        slots.n_open_nodes = n_nodes;
        return lanes_add(*out_latest, run_waves(b, &slots));
    }
    sort_rows(b->scratch->openings_s, n_late);
    return run_waves(b, &slots);
}

// Draws that do not depend on the number of earlier draws.
static inline void draw_from(struct block *b, uint32_t number, uint32_t first, int n)
{
    for (int i = 0; i < n && b->p->by_stage; i++)
        b->streams[i] = lane_stream_of(b->p->seed, number, FIRST_OF_STAGES + first + (uint32_t)i);
}

static inline struct lanes run_stage(struct block *b, uint32_t number, int s)
{
    struct lanes latest;
    draw_from(b, number, 3 * (uint32_t)(s + b->p->first_stage), 1);
    request_nodes(b, number, &b->p->stages[s]);
    set_factors(b, number, &b->p->stages[s]);
    draw_from(b, number, 3 * (uint32_t)(s + b->p->first_stage) + 1, 2);
    if (b->p->stages[s].trial.configuration)
        b->configurations = lane_stream_of(b->p->seed, number, b->p->stages[s].configurations);
    const struct lanes stage_s = run_stage_on(b, s, &latest);
    if (!b->p->wait_for_all && lanes_any_above(latest, stage_s))
        carry_late_nodes(b, s, stage_s);
    else if (!b->p->wait_for_all)
        b->is_late = false;
    b->before_s = stage_s;
    return stage_s;
}

static inline void start_next(double *start_s, struct lanes stage_s)
{
    memcpy(start_s + LANES, start_s, LANES * sizeof *start_s);
    add_to_doubles(start_s + LANES, stage_s, 1);
}

static inline void run_block(const struct rb_sampler_program *p, const struct rb_sampler_scratch *scratch,
                             uint32_t number, const struct rb_sampler_runs *out)
{
    struct block b = {
        .p = p,
        .scratch = scratch,
        .streams = {lane_stream_of(p->seed, number, 0), lane_stream_of(p->seed, number, 1)},
        .before_s = lanes_all(0),
        .out = out,
    };
    double *start_s = scratch->stage_start_s;
    memset(start_s, 0, LANES * sizeof *start_s);
    if (out->cost_usd)
        memset(out->cost_usd, 0, LANES * sizeof *out->cost_usd);
    if (out->linear_usd)
        memset(out->linear_usd, 0, LANES * sizeof *out->linear_usd);
    for (int s = 0; s < p->n_stages; s++, start_s += LANES) {
        bill_ended(&b, s);
        start_next(start_s, run_stage(&b, number, s));
    }
    bill_ended(&b, p->n_stages);
    memcpy(out->time_s, start_s, LANES * sizeof *start_s);
}

#endif
