// GPU time is integer microseconds times GPUs; money is split by it without loss.
#include "engine/plan/bill_split.h"

#include "base/arena.h"
#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>

__extension__ typedef __int128 wide; // a budget in micro-dollars times GPU microseconds

enum { TRAIN, BOOT, IDLE, LOST, CHECKPOINT, N_KINDS };

#define MOST_PARTS (6 * RB_LIMIT_STAGES) // all parts of struct rb_bill_parts in every window

void rb_apportion(int64_t total, const int64_t *weights, int n, int fallback, int64_t *out_parts)
{
    wide remainders[MOST_PARTS], sum = 0;
    assert(n <= MOST_PARTS);
    for (int i = 0; i < n; i++) {
        assert(weights[i] >= 0);
        sum += weights[i];
        out_parts[i] = 0;
    }
    if (sum == 0) {
        out_parts[fallback] = total;
        return;
    }
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

// ---- one window of a node's life

static int64_t overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
    const int64_t start = a > from ? a : from, end = b < to ? b : to;
    return end > start ? end - start : 0;
}

// Keeps the weights small enough that all of a window add up.
static void add_time(int64_t *sum, int gpus, int64_t us)
{
    const int64_t most = INT64_MAX / N_KINDS;
    if (__builtin_add_overflow(*sum, gpus * us, sum) || *sum > most)
        *sum = most;
}

static void add_spell(const struct rb_gpu_spell *spell, const int64_t span[2], int64_t *weights)
{
    const int gpus = __builtin_popcountll(spell->gpus);
    if (spell->lost) {
        add_time(&weights[LOST], gpus, overlap(spell->from_us, spell->to_us, span[0], span[1]));
        return;
    }
    add_time(&weights[TRAIN], gpus, overlap(spell->from_us, spell->saving_us, span[0], span[1]));
    add_time(&weights[CHECKPOINT], gpus, overlap(spell->saving_us, spell->to_us, span[0], span[1]));
}

// GPU time during which a trial was on a GPU: trials that share one do not count twice.
static int64_t occupied(const struct rb_gpu_spell *spells, int n, int gpus, const int64_t span[2])
{
    int64_t sum = 0;
    for (int gpu = 0; gpu < gpus; gpu++) {
        int64_t until = span[0];
        for (int i = 0; i < n; i++) {
            if (!(spells[i].gpus >> gpu & 1) || spells[i].to_us <= until)
                continue;
            const int64_t from = spells[i].from_us > until ? spells[i].from_us : until;
            sum += overlap(from, spells[i].to_us, span[0], span[1]);
            until = spells[i].to_us;
        }
    }
    return sum;
}

// Scales the times of trials that shared GPUs down to the GPUs' time. Returns that time.
static int64_t share_out(const struct rb_gpu_spell *spells, int n, int gpus, const int64_t span[2], int64_t *weights)
{
    const int64_t sum = weights[TRAIN] + weights[LOST] + weights[CHECKPOINT];
    const int64_t busy = occupied(spells, n, gpus, span);
    if (busy >= sum)
        return sum;
    weights[TRAIN] = (int64_t)((double)weights[TRAIN] * (double)busy / (double)sum);
    weights[LOST] = (int64_t)((double)weights[LOST] * (double)busy / (double)sum);
    weights[CHECKPOINT] = busy - weights[TRAIN] - weights[LOST];
    return busy;
}

static void weigh(const struct rb_node_life *life, const struct rb_gpu_spell *spells, int n_spells,
                  const int64_t window[2], int64_t *weights)
{
    const int64_t ready = life->ready_us >= 0 ? life->ready_us : life->ended_us;
    const int64_t span[2] = {ready > window[0] ? ready : window[0],
                             life->ended_us < window[1] ? life->ended_us : window[1]};
    for (int i = 0; i < n_spells; i++)
        add_spell(&spells[i], span, weights);
    if (life->running_us >= 0)
        weights[BOOT] = life->gpus * overlap(life->running_us, ready, window[0], window[1]);
    const int64_t idle = life->gpus * overlap(ready, life->ended_us, window[0], window[1]) -
                         share_out(spells, n_spells, life->gpus, span, weights);
    weights[IDLE] = idle > 0 ? idle : 0;
}

// ---- the whole life

static int by_start(const void *pa, const void *pb)
{
    const struct rb_gpu_spell *a = pa, *b = pb;
    return (a->from_us > b->from_us) - (a->from_us < b->from_us);
}

static int window_of(int64_t at_us, const int64_t *cuts_us, int n_windows)
{
    int w = 0;
    while (w < n_windows - 1 && cuts_us[w] <= at_us)
        w++;
    return w;
}

void rb_bill_split(const struct rb_bill *bill, const struct rb_node_life *life, struct rb_gpu_spell *spells,
                   int n_spells, const int64_t *cuts_us, int n_windows, struct rb_bill_parts *by)
{
    int64_t weights[MOST_PARTS] = {0}, parts[MOST_PARTS];
    assert(n_windows >= 1 && n_windows <= RB_LIMIT_STAGES);
    const int first = window_of(life->running_us, cuts_us, n_windows),
              last = window_of(life->ended_us - 1, cuts_us, n_windows);
    if (n_spells > 0)
        qsort(spells, (size_t)n_spells, sizeof *spells, by_start);
    for (int w = 0; w < n_windows; w++) {
        const int64_t window[2] = {w > 0 ? cuts_us[w - 1] : INT64_MIN, w < n_windows - 1 ? cuts_us[w] : INT64_MAX};
        weigh(life, spells, n_spells, window, weights + (size_t)w * N_KINDS);
    }
    rb_apportion(bill->machine_uusd + bill->disk_uusd - bill->minimum_uusd, weights, n_windows * N_KINDS,
                 last * N_KINDS + BOOT, parts);
    for (int w = 0; w < n_windows; w++) {
        const int64_t *part = parts + (size_t)w * N_KINDS;
        by[w].train_uusd += part[TRAIN];
        by[w].boot_uusd += part[BOOT];
        by[w].idle_barrier_uusd += part[IDLE];
        by[w].lost_uusd += part[LOST];
        by[w].checkpoint_uusd += part[CHECKPOINT];
    }
    by[first].boot_uusd += bill->data_uusd;
    by[last].minimum_uusd += bill->minimum_uusd;
    by[last].idle_barrier_uusd += bill->tail_uusd;
}

void rb_bill_parts_write(const struct rb_bill_parts *p, struct rb_json *j)
{
    rb_json_put(j, "{train: %jd boot: %jd idle_barrier: %jd minimum: %jd lost: %jd checkpoint: %jd}", p->train_uusd,
                p->boot_uusd, p->idle_barrier_uusd, p->minimum_uusd, p->lost_uusd, p->checkpoint_uusd);
}
