// Where one node's bill went. GPU time is integer microseconds times GPUs; money is split by it without loss.
#include "executor/report_split.h"

#include "base/arena.h"
#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide; // a budget in micro-dollars times GPU microseconds

enum { TRAIN, BOOT, IDLE, LOST, CHECKPOINT, N_KINDS };

void rb_report_apportion(int64_t total, const int64_t *weights, int n, int fallback, int64_t *out_parts)
{
    wide sum = 0;
    for (int i = 0; i < n; i++) {
        assert(weights[i] >= 0);
        sum += weights[i];
        out_parts[i] = 0;
    }
    if (sum == 0) {
        out_parts[fallback] = total;
        return;
    }
    wide remainders[N_KINDS > RB_LIMIT_STAGES ? N_KINDS : RB_LIMIT_STAGES];
    int64_t left = total;
    for (int i = 0; i < n; i++) {
        const wide share = (wide)total * weights[i];
        out_parts[i] = (int64_t)(share / sum);
        remainders[i] = share % sum;
        left -= out_parts[i];
    }
    for (; left > 0; left--) {
        int largest = 0;
        for (int i = 1; i < n; i++)
            if (remainders[i] > remainders[largest])
                largest = i;
        out_parts[largest]++;
        remainders[largest] = -1;
    }
}

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
    const int64_t start = a > from ? a : from, end = b < to ? b : to;
    return end > start ? end - start : 0;
}

// GPU time of one start on the node between two instants.
static int64_t gpu_time(const struct rb_task_row *t, int node, int64_t a, int64_t b, const int64_t span[2])
{
    int64_t sum = 0;
    for (int i = 0; i < t->n_slots; i++)
        if (t->slots[i].node == node)
            sum += __builtin_popcountll(t->slots[i].gpus) * overlap(a, b, span[0], span[1]);
    return sum;
}

static void add_task(const struct rb_task_row *t, int node, int64_t now_us, const int64_t span[2],
                     int64_t *weights)
{
    const int64_t ended = t->ended_us >= 0 ? t->ended_us : now_us;
    const int64_t exited = t->exited_us >= 0 ? t->exited_us : ended;
    switch (t->state) {
    case RB_TASK_INTENT:
    case RB_TASK_EXITED:
    case RB_TASK_SAVED:
        weights[TRAIN] += gpu_time(t, node, t->started_us, exited, span);
        weights[CHECKPOINT] += gpu_time(t, node, exited, ended, span);
        break;
    case RB_TASK_ENDED:
    case RB_TASK_KILLING:
    case RB_TASK_KILLED:
        weights[LOST] += gpu_time(t, node, t->started_us, ended, span);
        break;
    }
}

struct spell {
    int64_t from, to;
    uint64_t gpus;
};

static int by_start(const void *pa, const void *pb)
{
    const struct spell *a = pa, *b = pb;
    return (a->from > b->from) - (a->from < b->from);
}

// The spells of all tasks on the node, by start.
static void list_spells(const struct rb_task_row *tasks, int n_tasks, int node, int64_t now_us, struct spell *out)
{
    int n = 0;
    for (int i = 0; i < n_tasks; i++) {
        const struct rb_task_row *t = &tasks[i];
        for (int k = 0; k < t->n_slots; k++) {
            if (t->slots[k].node == node)
                out[n++] = (struct spell){t->started_us, t->ended_us >= 0 ? t->ended_us : now_us, t->slots[k].gpus};
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_start);
}

// GPU time during which anybody was on a GPU: trials that share one do not count twice.
static int64_t occupied(const struct spell *spells, int n, int gpus, const int64_t span[2])
{
    int64_t sum = 0;
    for (int gpu = 0; gpu < gpus; gpu++) {
        int64_t until = span[0];
        for (int i = 0; i < n; i++) {
            if (!(spells[i].gpus >> gpu & 1) || spells[i].to <= until)
                continue;
            const int64_t from = spells[i].from > until ? spells[i].from : until;
            sum += overlap(from, spells[i].to, span[0], span[1]);
            until = spells[i].to;
        }
    }
    return sum;
}

static int count_spells(const struct rb_task_row *tasks, int n_tasks, int node)
{
    int n = 0;
    for (int i = 0; i < n_tasks; i++) {
        for (int k = 0; k < tasks[i].n_slots; k++)
            n += tasks[i].slots[k].node == node;
    }
    return n;
}

// What trials that shared GPUs took is scaled down to what the GPUs gave.
static int64_t share_out(const struct rb_task_row *tasks, int n_tasks, int node, int gpus, int64_t now_us,
                         const int64_t span[2], int64_t *weights)
{
    const int64_t sum = weights[TRAIN] + weights[LOST] + weights[CHECKPOINT];
    const int n = count_spells(tasks, n_tasks, node);
    RB_AUTO(rb_auto_free) struct spell *spells = rb_xcalloc((size_t)n + 1, sizeof *spells);
    list_spells(tasks, n_tasks, node, now_us, spells);
    const int64_t busy = occupied(spells, n, gpus, span);
    if (busy >= sum)
        return sum;
    weights[TRAIN] = (int64_t)((double)weights[TRAIN] * (double)busy / (double)sum);
    weights[LOST] = (int64_t)((double)weights[LOST] * (double)busy / (double)sum);
    weights[CHECKPOINT] = busy - weights[TRAIN] - weights[LOST];
    return busy;
}

void rb_report_split_node(const struct rb_bill *bill, const struct rb_report_node *node, int gpus,
                          const struct rb_task_row *tasks, int n_tasks, int64_t now_us,
                          struct rb_report_cost *by)
{
    int64_t weights[N_KINDS] = {0}, parts[N_KINDS];
    const int64_t end = node->terminated_us >= 0 ? node->terminated_us : now_us;
    const int64_t ready = node->ready_us >= 0 ? node->ready_us : end;
    const int64_t span[2] = {ready, end};
    for (int i = 0; i < n_tasks; i++)
        add_task(&tasks[i], node->node, now_us, span, weights);
    weights[BOOT] =
        node->running_us >= 0 ? gpus * overlap(node->running_us, ready, node->running_us, end) : 0;
    const int64_t busy = share_out(tasks, n_tasks, node->node, gpus, now_us, span, weights);
    const int64_t idle = gpus * overlap(ready, end, ready, end) - busy;
    weights[IDLE] = idle > 0 ? idle : 0;
    rb_report_apportion(bill->machine_uusd + bill->disk_uusd - bill->minimum_uusd, weights, N_KINDS, BOOT,
                        parts);
    by->train_uusd += parts[TRAIN];
    by->boot_uusd += parts[BOOT] + bill->data_uusd;
    by->idle_barrier_uusd += parts[IDLE];
    by->lost_uusd += parts[LOST];
    by->checkpoint_uusd += parts[CHECKPOINT];
    by->minimum_uusd += bill->minimum_uusd;
}

void rb_report_split_stages(const struct rb_report_node *node, int64_t now_us, struct rb_report_stage *stages,
                            int n)
{
    int64_t weights[RB_LIMIT_STAGES] = {0}, parts[RB_LIMIT_STAGES];
    const int64_t end = node->terminated_us >= 0 ? node->terminated_us : now_us;
    int last = 0;
    for (int i = 0; i < n; i++)
        if (stages[i].start_us >= 0)
            last = i;
    for (int i = 0; i <= last && node->running_us >= 0 && n > 0; i++) {
        const int64_t from = i == 0 ? INT64_MIN : stages[i].start_us,
                      to = i == last ? INT64_MAX : stages[i].end_us;
        weights[i] = overlap(node->running_us, end, from, to);
    }
    if (n == 0)
        return;
    rb_report_apportion(node->cost_uusd, weights, last + 1, last, parts);
    for (int i = 0; i <= last; i++)
        stages[i].cost_uusd += parts[i];
}
