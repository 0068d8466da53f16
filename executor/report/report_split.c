// Splits the bills of a run by the starts in its journal.
#include "executor/report/report_split.h"

#include "base/arena.h"
#include "base/limits.h"

#include <stdlib.h>

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
    const int64_t start = a > from ? a : from, end = b < to ? b : to;
    return end > start ? end - start : 0;
}

int64_t rb_report_run_time_us(int64_t unix_us, int64_t started_unix_us, int64_t requested_us)
{
    const int64_t at_us = unix_us - started_unix_us;
    return unix_us < 0 ? -1 : at_us > requested_us ? at_us : requested_us;
}

static bool came_to_nothing(enum rb_task_state state)
{
    switch (state) {
    case RB_TASK_INTENT:
    case RB_TASK_EXITED:
    case RB_TASK_SAVED:
        return false;
    case RB_TASK_ENDED:
    case RB_TASK_KILLING:
    case RB_TASK_KILLED:
        return true;
    }
    return false;
}

// The starts on one node, as spells of GPU time: one, or two of a start that was lost after a midway checkpoint. Returns their
// number.
static int list_spells(const struct rb_task_row *tasks, int n_tasks, int node, int64_t now_us,
                        struct rb_gpu_spell *out)
{
    int n = 0;
    for (int i = 0; i < n_tasks; i++) {
        const struct rb_task_row *t = &tasks[i];
        const int64_t ended = t->ended_us >= 0 ? t->ended_us : now_us;
        const int64_t exited = t->exited_us >= 0 ? t->exited_us : ended;
        const bool lost = came_to_nothing(t->state);
        const int64_t kept = lost && t->kept_us > t->started_us ? t->kept_us : t->started_us;
        for (int k = 0; k < t->n_slots; k++) {
            if (t->slots[k].node != node)
                continue;
            if (kept > t->started_us)
                out[n++] = (struct rb_gpu_spell){
                    .gpus = t->slots[k].gpus, .from_us = t->started_us, .saving_us = kept, .to_us = kept};
            out[n++] = (struct rb_gpu_spell){
                .gpus = t->slots[k].gpus, .from_us = kept, .saving_us = exited, .to_us = ended, .lost = lost};
        }
    }
    return n;
}

static int count_slots(const struct rb_task_row *tasks, int n_tasks, int node)
{
    int n = 0;
    for (int i = 0; i < n_tasks; i++) {
        for (int k = 0; k < tasks[i].n_slots; k++)
            n += tasks[i].slots[k].node == node;
    }
    return n;
}

void rb_report_split_node(const struct rb_bill *bill, const struct rb_report_node *node, int gpus,
                          const struct rb_task_row *tasks, int n_tasks, int64_t now_us, struct rb_bill_parts *by)
{
    const struct rb_node_life life = {.gpus = gpus,
                                      .running_us = node->running_us,
                                      .ready_us = node->ready_us,
                                      .ended_us = node->terminated_us >= 0 ? node->terminated_us : now_us};
    const int most = 2 * count_slots(tasks, n_tasks, node->node);
    RB_AUTO(rb_auto_free) struct rb_gpu_spell *spells = rb_xcalloc((size_t)most + 1, sizeof *spells);
    const int n = list_spells(tasks, n_tasks, node->node, now_us, spells);
    rb_bill_split(bill, &life, spells, n, NULL, 1, by);
}

// Uses the bill of a cloud that charges one per GPU and microsecond.
void rb_report_split_time(const struct rb_report_node *node, int gpus, const struct rb_task_row *tasks, int n_tasks,
                          int64_t now_us, int64_t lent_us, struct rb_node_time *out)
{
    struct rb_report_node life = *node;
    struct rb_bill_parts parts = {0};
    if (life.terminated_us < 0)
        life.terminated_us = life.gone_us >= 0 ? life.gone_us : now_us;
    *out = (struct rb_node_time){0};
    if (life.running_us < 0 || life.terminated_us <= life.running_us)
        return;
    const struct rb_bill bill = {.machine_uusd = gpus * (life.terminated_us - life.running_us)};
    rb_report_split_node(&bill, &life, gpus, tasks, n_tasks, now_us, &parts);
    *out = (struct rb_node_time){.train_us = parts.train_uusd,
                                 .boot_us = parts.boot_uusd,
                                 .idle_barrier_us = parts.idle_barrier_uusd,
                                 .lost_us = parts.lost_uusd,
                                 .checkpoint_us = parts.checkpoint_uusd};
    if (lent_us < 0)
        return;
    const int64_t idle_us = lent_us - out->train_us - out->lost_us - out->checkpoint_us;
    out->boot_us = 0; // the pool's time
    out->idle_barrier_us = idle_us > 0 ? idle_us : 0;
}

void rb_report_split_stages(const struct rb_report_node *node, int64_t now_us, struct rb_report_stage *stages, int n)
{
    int64_t weights[RB_LIMIT_STAGES] = {0}, parts[RB_LIMIT_STAGES];
    const int64_t end = node->terminated_us >= 0 ? node->terminated_us : now_us;
    int last = 0;
    for (int i = 0; i < n; i++)
        if (stages[i].start_us >= 0)
            last = i;
    for (int i = 0; i <= last && node->running_us >= 0 && n > 0; i++) {
        const int64_t from = i == 0 ? INT64_MIN : stages[i].start_us, to = i == last ? INT64_MAX : stages[i].end_us;
        weights[i] = overlap(node->running_us, end, from, to);
    }
    if (n == 0)
        return;
    rb_apportion(node->cost_uusd, weights, last + 1, last, parts);
    for (int i = 0; i <= last; i++)
        stages[i].cost_uusd += parts[i];
}
