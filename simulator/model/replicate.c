// One replicate of a plan. If no node can be lost, slots are interchangeable: a stage is defined by its slots' opening
// times and its trials' durations, and the dynamic schedule is a heap of times, or a plain maximum for one wave.
#include "simulator/model/workspace.h"

#include "simulator/model/draws.h"
#include "simulator/model/noise.h"

#include <stdlib.h>
#include <string.h>

struct rb_workspace *rb_workspace_create(void)
{
    return rb_xcalloc(1, sizeof(struct rb_workspace));
}

void rb_workspace_destroy(struct rb_workspace *ws)
{
    if (!ws)
        return;
    free(ws->nodes);
    free(ws->owned);
    free(ws->missing);
    free(ws->times);
    rb_event_heap_finish(&ws->heap);
    free(ws->trials);
    free(ws->slots);
    free(ws->requeued);
    rb_places_finish(&ws->places);
    free(ws);
}

// ---- a heap of times, smallest first

static void sift_down(int64_t *times, int n, int at)
{
    const int64_t moved = times[at];
    for (int child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && times[child + 1] < times[child])
            child++;
        if (times[child] >= moved)
            break;
        times[at] = times[child];
        at = child;
    }
    times[at] = moved;
}

static void heapify(int64_t *times, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--)
        sift_down(times, n, i);
}

// Ascending: the top of the heap is moved to the freed end, and then everything is reversed.
static void sort(int64_t *times, int n)
{
    heapify(times, n);
    for (int left = n; left > 1; left--) {
        const int64_t first = times[0];
        times[0] = times[left - 1];
        sift_down(times, left - 1, 0);
        times[left - 1] = first;
    }
    for (int i = 0; i < n / 2; i++) {
        const int64_t swapped = times[i];
        times[i] = times[n - 1 - i];
        times[n - 1 - i] = swapped;
    }
}

// ---- when slots open

static int64_t opening(const struct rb_workspace *ws, int node)
{
    return ws->nodes[node].ready_us > ws->stage_start_us ? ws->nodes[node].ready_us : ws->stage_start_us;
}

// Several trials on each node.
static int open_node_slots(struct rb_workspace *ws, const struct rb_stage_program *stage)
{
    int n = 0;
    for (int i = 0; i < ws->n_owned; i++) {
        if (!ws->nodes[ws->owned[i]].allocated)
            continue;
        // More slots of one node than trials are never used.
        for (int k = 0; k < stage->trials_per_node && k < stage->n_trials; k++)
            ws->times[n++] = opening(ws, ws->owned[i]);
    }
    return n;
}

// Several nodes per trial: a gang is ready when its last node is, and arriving nodes are used in the order of arrival,
// because the next gang replaces a finished one at once.
static int open_gang_slots(struct rb_workspace *ws, const struct rb_stage_program *stage)
{
    int n_nodes = 0, n_slots = 0;
    for (int i = 0; i < ws->n_owned; i++) {
        if (ws->nodes[ws->owned[i]].allocated)
            ws->times[n_nodes++] = opening(ws, ws->owned[i]);
    }
    sort(ws->times, n_nodes);
    for (int last = stage->nodes_per_trial - 1; last < n_nodes; last += stage->nodes_per_trial)
        ws->times[n_slots++] = ws->times[last];
    return n_slots;
}

static void reserve_times(struct rb_workspace *ws, const struct rb_stage_program *stage)
{
    const int per_node = stage->trials_per_node > 0 ? stage->trials_per_node : 1;
    const int wanted = ws->n_owned * per_node;
    if (wanted <= ws->times_cap)
        return;
    ws->times = rb_xrealloc(ws->times, (size_t)wanted, sizeof *ws->times);
    ws->times_cap = wanted;
}

// ---- a stage

static int64_t max_time(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

double rb_sim_stage_unit_s(const struct rb_workspace *ws)
{
    const struct rb_stage_program *stage = &ws->program->stages[ws->stage];
    return rb_draw_unit_s(ws->program->scenario, stage->plan->nodes[0].offer, stage->unit_s, ws->replicate);
}

static int64_t play_start(const struct rb_workspace *ws, int position, const struct rb_sim_start *start, int64_t by_us,
                          int64_t *out_safe)
{
    const int64_t units = ws->program->stages[ws->stage].units - start->trained;
    return rb_draw_saving_trial_us(ws->program->scenario, ws->stage, position, start->attempt, ws->replicate, units,
                                   ws->unit_s, start->save_every_s, by_us, out_safe);
}

static struct rb_trial_noise noise_of(const struct rb_workspace *ws, int position, int attempt)
{
    const struct rb_scenario *s = ws->program->scenario;
    const struct rb_stage_program *stage = &ws->program->stages[ws->stage];
    if (rb_noise_covers(s->noise, ws->stage, stage->n_trials, stage->units, ws->replicate))
        return rb_noise_trial(s->noise, ws->stage, position, attempt, ws->replicate);
    return rb_draw_trial_noise(s, ws->stage, position, attempt, ws->replicate, stage->units);
}

// Is it over before a save is due? Its whole time then is what it is without saves.
static bool saves_never(const struct rb_workspace *ws, const struct rb_sim_start *start,
                        const struct rb_trial_noise *noise)
{
    return start->save_every_s <= 0 || ws->unit_s * noise->units_drawn < start->save_every_s;
}

int64_t rb_sim_start_us(const struct rb_workspace *ws, int position, const struct rb_sim_start *start)
{
    int64_t safe;
    if (start->trained == 0) {
        const struct rb_trial_noise noise = noise_of(ws, position, start->attempt);
        if (saves_never(ws, start, &noise))
            return rb_trial_noise_us(&noise, ws->unit_s);
    }
    return play_start(ws, position, start, INT64_MAX, &safe);
}

int64_t rb_sim_start_safe(const struct rb_workspace *ws, int position, const struct rb_sim_start *start, int64_t by_us)
{
    int64_t safe = 0;
    if (start->save_every_s > 0)
        play_start(ws, position, start, by_us, &safe);
    return safe;
}

static int count_open_at_start(const struct rb_workspace *ws, int n_slots)
{
    int n = 0;
    for (int i = 0; i < n_slots; i++)
        n += ws->times[i] == ws->stage_start_us;
    return n;
}

bool rb_sim_run_stage(struct rb_workspace *ws, int64_t until_us, int64_t *out_end_us)
{
    const struct rb_stage_program *stage = &ws->program->stages[ws->stage];
    reserve_times(ws, stage);
    const int n_slots = stage->trials_per_node > 0 ? open_node_slots(ws, stage) : open_gang_slots(ws, stage);
    const struct rb_sim_start start = {.save_every_s = stage->save_every_s};
    int64_t end_us = ws->stage_start_us;
    if (count_open_at_start(ws, n_slots) >= stage->n_trials) {
        for (int k = 0; k < stage->n_trials && end_us <= until_us; k++)
            end_us = max_time(end_us, ws->stage_start_us + rb_sim_start_us(ws, k, &start));
    } else {
        heapify(ws->times, n_slots);
        for (int k = 0; k < stage->n_trials && end_us <= until_us; k++) {
            ws->times[0] += rb_sim_start_us(ws, k, &start);
            end_us = max_time(end_us, ws->times[0]);
            sift_down(ws->times, n_slots, 0);
        }
    }
    *out_end_us = end_us;
    return end_us <= until_us;
}

static bool run_stages(struct rb_workspace *ws)
{
    int64_t now_us = 0;
    for (ws->stage = ws->first_stage; ws->stage < ws->program->n_stages; ws->stage++) {
        const struct rb_stage_program *stage = &ws->program->stages[ws->stage];
        ws->stage_start_us = now_us;
        ws->unit_s = rb_sim_stage_unit_s(ws);
        ws->next_ordinal = ws->n_early_made = 0;
        rb_sim_cluster_allocate(ws, stage->plan, now_us);
        if (ws->failed)
            return false;
        if (!rb_sim_run_stage(ws, RB_SIM_HORIZON_US, &now_us))
            return rb_sim_fail(ws, "it takes more than 100 years");
        ws->out->stage_time_us[ws->stage] = now_us - ws->stage_start_us;
        rb_sim_cluster_request_early(ws, stage->plan, now_us);
    }
    ws->stage = ws->program->n_stages - 1;
    rb_sim_cluster_end_all(ws, now_us);
    ws->out->time_us = now_us;
    return !ws->failed;
}

bool rb_sim_run_from(struct rb_workspace *ws, const struct rb_program *program, uint32_t replicate,
                     struct rb_replicate *out, struct rb_err *err)
{
    struct rb_replicate result;
    ws->program = program;
    ws->replicate = replicate;
    ws->out = &result;
    ws->err = err;
    result.time_us = result.cost_uusd = 0;
    memset(result.stage_cost_uusd, 0, (size_t)program->n_stages * sizeof result.stage_cost_uusd[0]);
    memset(result.stage_time_us, 0, (size_t)program->n_stages * sizeof result.stage_time_us[0]);
    rb_sim_cluster_reset(ws);
    rb_sim_cluster_inherit(ws);
    if (!(program->loses_nodes ? rb_sim_run_events(ws) : run_stages(ws)))
        return false;
    out->time_us = result.time_us;
    out->cost_uusd = result.cost_uusd;
    memcpy(out->stage_time_us, result.stage_time_us, (size_t)program->n_stages * sizeof result.stage_time_us[0]);
    memcpy(out->stage_cost_uusd, result.stage_cost_uusd, (size_t)program->n_stages * sizeof result.stage_cost_uusd[0]);
    return true;
}

bool rb_sim_run(struct rb_workspace *ws, const struct rb_program *program, uint32_t replicate, struct rb_replicate *out,
                struct rb_err *err)
{
    ws->first_stage = ws->n_inherited = 0;
    ws->is_unbilled = false;
    ws->until_us = RB_SIM_HORIZON_US;
    return rb_sim_run_from(ws, program, replicate, out, err);
}

bool rb_replicate_run(const struct rb_scenario *s, const struct rb_plan_stage *stages, int n_stages, uint32_t replicate,
                      struct rb_workspace *ws, struct rb_replicate *out, struct rb_err *err)
{
    struct rb_program program;
    return rb_program_compile(s, stages, n_stages, &program, err) && rb_sim_run(ws, &program, replicate, out, err);
}
