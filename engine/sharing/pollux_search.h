// Searches divisions of a cluster by the genetic search of Pollux (OSDI'21 artifact): NSGA-II (Deb et al., 2002) on two objectives,
// the power mean of the jobs' speed-ups and the cluster's utility. One division is a matrix of jobs x nodes, a row a job.
#ifndef RB_ENGINE_SHARING_POLLUX_SEARCH_H
#define RB_ENGINE_SHARING_POLLUX_SEARCH_H

#include "base/arena.h"
#include "base/stream.h"
#include "engine/sharing/pollux_speedup.h"

#include <stdbool.h>
#include <stdint.h>

#define RB_POLLUX_POPULATION  100
#define RB_POLLUX_GENERATIONS 100 // the initial population is the first
#define RB_POLLUX_SLOTS       (2 * RB_POLLUX_POPULATION)
#define RB_POLLUX_KNOWN       512 // more than twice as many: short chains

// The constraints of a division and its value. Const during a search, except for the cache of speed-ups.
struct rb_pollux_problem {
    int n_jobs, n_nodes;
    int n_words;                  // of a row: rb_row_words(n_nodes)
    const uint64_t *capacity;     // a row: GPUs of each node
    const uint64_t *base;         // [n_jobs][n_words]: what the jobs hold now
    const int *min_gpus, *max_gpus; // [n_jobs]
    bool avoid_interference;
    double log_not_grown;         // log(1 - 1 / n_jobs)
    struct rb_pollux_speedups *speedups;
};

struct rb_pollux_member {
    double cost[2];               // minus the power mean, minus the utility
    double crowding;
    uint64_t hash;                // of its rows
    int slot;                     // where its rows are
};

struct rb_pollux_search {
    const struct rb_pollux_problem *problem;
    size_t n_row_words;           // of one member: n_jobs * n_words
    uint64_t *rows;               // [RB_POLLUX_SLOTS][n_row_words]
    uint64_t *spare;              // one member more: the second of two children
    uint64_t *scratch;            // two rows
    struct rb_pollux_member members[RB_POLLUX_SLOTS]; // the first n_members are alive; the others lend their slots
    int n_members;
    int n_front;                  // after a search: the first n_front are not dominated
    uint8_t known[RB_POLLUX_KNOWN]; // by hash: 1 + index of a member, 0 none
};

// Owns: memory is the arena's; problem is borrowed.
void rb_pollux_search_init(struct rb_pollux_search *s, struct rb_arena *arena, const struct rb_pollux_problem *problem);

// Adds one member to the initial population, repaired; false: it is already there. At most RB_POLLUX_POPULATION.
bool rb_pollux_search_add(struct rb_pollux_search *s, struct rb_stream *draws, const uint64_t *rows);

// Runs all generations. `seed` and `round` key the draws. Returns the member with the greatest power mean; ties by
// index.
int rb_pollux_search_run(struct rb_pollux_search *s, uint64_t seed, uint32_t round);

static inline uint64_t *rb_pollux_rows_of(const struct rb_pollux_search *s, int member)
{
    return s->rows + (size_t)s->members[member].slot * s->n_row_words;
}

#endif
