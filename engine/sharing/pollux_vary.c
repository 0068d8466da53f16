#include "engine/sharing/pollux_vary.h"

#include "base/limits.h"
#include "engine/sharing/pollux_row.h"

#include <math.h>
#include <string.h>

#define LOG_OF_NINE_TENTHS (-0.10536051565782628) // log(1 - 0.1)
#define TENTH              UINT32_C(429496730)    // 0.1 * 2^32

// In a row of independent events of probability q, the number that do not happen before the next one does; log_miss =
// log(1 - q).
static int misses(struct rb_stream *draws, double log_miss)
{
    const double u = ((double)rb_stream_u32(draws) + 0.5) * 0x1p-32;
    const double n = log(u) / log_miss; // 0 where log_miss is minus infinity
    return n < INT32_MAX / 2 ? (int)n : INT32_MAX / 2;
}

void rb_pollux_crossover(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *a, uint64_t *b)
{
    const int n = rb_pollux_below(draws, p->n_jobs) * p->n_words;
    for (int i = 0; i < n; i++) {
        const uint64_t word = a[i];
        a[i] = b[i];
        b[i] = word;
    }
}

static void reset_some(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows)
{
    for (int j = misses(draws, LOG_OF_NINE_TENTHS); j < p->n_jobs; j += 1 + misses(draws, LOG_OF_NINE_TENTHS)) {
        const size_t at = (size_t)j * (size_t)p->n_words;
        memcpy(rows + at, p->base + at, (size_t)p->n_words * sizeof *rows);
    }
}

static void erase_some(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows)
{
    for (int j = misses(draws, LOG_OF_NINE_TENTHS); j < p->n_jobs; j += 1 + misses(draws, LOG_OF_NINE_TENTHS)) {
        uint64_t *row = rows + (size_t)j * (size_t)p->n_words;
        for (int w = 0; w < p->n_words; w++) {
            for (uint64_t held = rb_row_nonzero(row[w]); held; held &= held - 1) {
                if (rb_stream_u32(draws) < TENTH)
                    row[w] &= ~rb_row_widen(held & -held);
            }
        }
    }
}

// GPUs of each node that no row takes; none if rows want more than the node has.
static void count_left(const struct rb_pollux_problem *p, const uint64_t *rows, uint64_t *left)
{
    memcpy(left, p->capacity, (size_t)p->n_words * sizeof *left);
    for (int j = 0; j < p->n_jobs; j++, rows += p->n_words) {
        for (int w = 0; w < p->n_words; w++)
            left[w] -= rb_row_min(left[w], rows[w]);
    }
}

// Any number from the job's GPUs there to the whole node. Repair removes the excess.
static void grow(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows, int job, int node)
{
    uint64_t *row = rows + (size_t)job * (size_t)p->n_words;
    const int now = rb_row_get(row, node);
    rb_row_set(row, node, now + rb_pollux_below(draws, rb_row_get(p->capacity, node) - now + 1));
}

// On a node with GPUs free every job grows with probability 1 / jobs, and those that hold GPUs there once more with
// 1 / holders; no job grows twice.
static void grow_on(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows, int node)
{
    int holders[RB_LIMIT_GPUS_PER_NODE], n_holders = 0, n_grown = 0;
    for (int j = 0; j < p->n_jobs && n_holders < RB_LIMIT_GPUS_PER_NODE; j++) {
        if (rb_row_get(rows + (size_t)j * (size_t)p->n_words, node) > 0)
            holders[n_holders++] = j;
    }
    for (int i = 0; i < n_holders; i++) {
        if (n_holders == 1 || rb_pollux_below(draws, n_holders) == 0) {
            grow(p, draws, rows, holders[i], node);
            holders[n_grown++] = holders[i];
        }
    }
    for (int j = misses(draws, p->log_not_grown); j < p->n_jobs; j += 1 + misses(draws, p->log_not_grown)) {
        bool grown = false;
        for (int i = 0; i < n_grown; i++)
            grown |= holders[i] == j;
        if (!grown)
            grow(p, draws, rows, j, node);
    }
}

void rb_pollux_mutate(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows, uint64_t *left)
{
    reset_some(p, draws, rows);
    erase_some(p, draws, rows);
    count_left(p, rows, left);
    for (int w = 0; w < p->n_words; w++) {
        for (uint64_t free = rb_row_nonzero(left[w]); free; free &= free - 1)
            grow_on(p, draws, rows, w * 8 + __builtin_ctzll(free) / 8);
    }
}

// ---- repair

static bool spans_nodes(const uint64_t *row, int n_words)
{
    int n = 0;
    for (int w = 0; w < n_words; w++)
        n += rb_row_count(rb_row_nonzero(row[w]));
    return n > 1;
}

// Of the jobs that span nodes the first on a node keeps it. As published, the second closes the node to later jobs,
// whether it spans nodes or not. `scratch`: two rows.
static void keep_apart(const struct rb_pollux_problem *p, uint64_t *rows, uint64_t *scratch)
{
    uint64_t *taken = scratch, *closed = scratch + p->n_words;
    memset(scratch, 0, 2 * (size_t)p->n_words * sizeof *scratch);
    for (int j = 0; j < p->n_jobs; j++, rows += p->n_words) {
        const bool spans = spans_nodes(rows, p->n_words);
        for (int w = 0; w < p->n_words; w++) {
            const uint64_t wanted = spans ? rb_row_widen(rb_row_nonzero(rows[w])) : 0;
            closed[w] |= taken[w] & wanted;
            taken[w] |= wanted;
            rows[w] &= ~closed[w];
        }
    }
}

static void count_row(const uint64_t *row, int n_words, int *out_nodes, int *out_gpus)
{
    *out_nodes = *out_gpus = 0;
    for (int w = 0; w < n_words; w++) {
        *out_nodes += rb_row_count(rb_row_nonzero(row[w]));
        *out_gpus += rb_row_sum(row[w]);
    }
}

// Visits nodes in random order; GPUs beyond the limits are released.
static void cap_row(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *row, int n_nodes,
                    int max_gpus)
{
    int n_seen = 0, nodes = 0, gpus = 0;
    int order[n_nodes];
    for (int w = 0; w < p->n_words; w++) {
        for (uint64_t held = rb_row_nonzero(row[w]); held; held &= held - 1) {
            const int at = rb_pollux_below(draws, n_seen + 1);
            order[n_seen++] = order[at];
            order[at] = w * 8 + __builtin_ctzll(held) / 8;
        }
    }
    for (int i = 0; i < n_seen; i++) {
        const int held = rb_row_get(row, order[i]);
        const int room = nodes < RB_POLLUX_MAX_NODES ? max_gpus - gpus : 0;
        const int kept = held < room ? held : room;
        rb_row_set(row, order[i], kept);
        gpus += kept;
        nodes += kept > 0;
    }
}

void rb_pollux_repair(const struct rb_pollux_problem *p, struct rb_stream *draws, uint64_t *rows, uint64_t *scratch)
{
    uint64_t *left = scratch;
    if (p->avoid_interference)
        keep_apart(p, rows, scratch);
    memcpy(left, p->capacity, (size_t)p->n_words * sizeof *left);
    for (int j = 0; j < p->n_jobs; j++, rows += p->n_words) {
        int nodes, gpus;
        count_row(rows, p->n_words, &nodes, &gpus);
        if (gpus > p->max_gpus[j] || nodes > RB_POLLUX_MAX_NODES)
            cap_row(p, draws, rows, nodes, p->max_gpus[j]);
        gpus = 0;
        for (int w = 0; w < p->n_words; w++) {
            rows[w] = rb_row_min(rows[w], left[w]);
            gpus += rb_row_sum(rows[w]);
        }
        // As published: the GPUs of a job below its minimum are released and not reused.
        for (int w = 0; w < p->n_words; w++) {
            left[w] -= rows[w];
            if (gpus < p->min_gpus[j])
                rows[w] = 0;
        }
    }
}
