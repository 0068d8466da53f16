#include "engine/sharing/pollux_search.h"

#include "engine/sharing/pollux_row.h"
#include "engine/sharing/pollux_survival.h"
#include "engine/sharing/pollux_vary.h"

#include <string.h>

#define CROSSOVER 0.9
#define TRIES     100 // to fill a generation with new members

void rb_pollux_search_init(struct rb_pollux_search *s, struct rb_arena *arena, const struct rb_pollux_problem *problem)
{
    const size_t n_row_words = (size_t)problem->n_jobs * (size_t)problem->n_words;
    *s = (struct rb_pollux_search){
        .problem = problem,
        .n_row_words = n_row_words,
        .rows = rb_arena_array(arena, RB_POLLUX_SLOTS * n_row_words, sizeof *s->rows),
        .spare = rb_arena_array(arena, n_row_words, sizeof *s->spare),
        .scratch = rb_arena_array(arena, 2 * (size_t)problem->n_words, sizeof *s->scratch),
    };
    for (int i = 0; i < RB_POLLUX_SLOTS; i++)
        s->members[i].slot = i;
}

// ---- the value of a division

static bool same_row(const uint64_t *a, const uint64_t *b, int n_words)
{
    for (int w = 0; w < n_words; w++) {
        if (a[w] != b[w])
            return false;
    }
    return true;
}

static void evaluate(const struct rb_pollux_search *s, struct rb_pollux_member *m)
{
    const struct rb_pollux_problem *p = s->problem;
    const uint64_t *row = s->rows + (size_t)m->slot * s->n_row_words, *base = p->base;
    double terms = 0, speedups = 0;
    memset(s->scratch, 0, (size_t)p->n_words * sizeof *s->scratch);
    for (int j = 0; j < p->n_jobs; j++, row += p->n_words, base += p->n_words) {
        int nodes = 0, gpus = 0;
        for (int w = 0; w < p->n_words; w++) {
            const uint64_t held = rb_row_nonzero(row[w]);
            nodes += rb_row_count(held);
            gpus += rb_row_sum(row[w]);
            s->scratch[w] |= held;
        }
        const struct rb_pollux_speedup *of = rb_pollux_speedup_of(p->speedups, j, nodes, gpus);
        terms += same_row(row, base, p->n_words) ? of->kept : of->moved;
        speedups += of->speedup;
    }
    int n_active = 0; // GPUs of the nodes in use
    for (int w = 0; w < p->n_words; w++)
        n_active += rb_row_sum(p->capacity[w] & rb_row_widen(s->scratch[w]));
    m->cost[0] = -rb_pollux_mean(p->speedups, terms);
    m->cost[1] = n_active > 0 ? -speedups / n_active : 0;
}

// ---- no member twice

static uint64_t hash_of(const uint64_t *rows, size_t n)
{
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ rows[i]) * UINT64_C(0xD6E8FEB86659FD93);
        h ^= h >> 32;
    }
    return h;
}

// The place of a member like m in `known`, or where it would be.
static uint8_t *place_of(struct rb_pollux_search *s, const struct rb_pollux_member *m)
{
    const uint64_t *rows = s->rows + (size_t)m->slot * s->n_row_words;
    size_t at = m->hash % RB_POLLUX_KNOWN;
    for (; s->known[at]; at = (at + 1) % RB_POLLUX_KNOWN) {
        const struct rb_pollux_member *other = &s->members[s->known[at] - 1];
        if (other->hash == m->hash &&
            memcmp(s->rows + (size_t)other->slot * s->n_row_words, rows, s->n_row_words * sizeof *rows) == 0)
            break;
    }
    return &s->known[at];
}

static void know_all(struct rb_pollux_search *s)
{
    memset(s->known, 0, sizeof s->known);
    for (int i = 0; i < s->n_members; i++)
        *place_of(s, &s->members[i]) = (uint8_t)(i + 1);
}

// Repairs the member behind the n known ones, and adds it if it is new.
static bool take_in(struct rb_pollux_search *s, struct rb_stream *draws)
{
    struct rb_pollux_member *m = &s->members[s->n_members];
    uint64_t *rows = s->rows + (size_t)m->slot * s->n_row_words;
    rb_pollux_repair(s->problem, draws, rows, s->scratch);
    m->hash = hash_of(rows, s->n_row_words);
    uint8_t *place = place_of(s, m);
    if (*place)
        return false;
    evaluate(s, m);
    *place = (uint8_t)++s->n_members;
    return true;
}

bool rb_pollux_search_add(struct rb_pollux_search *s, struct rb_stream *draws, const uint64_t *rows)
{
    memcpy(s->rows + (size_t)s->members[s->n_members].slot * s->n_row_words, rows, s->n_row_words * sizeof *rows);
    return take_in(s, draws);
}

// ---- mating

// Contestants come from permutations of the population, one after another, so all members are in equally many
// tournaments.
struct contestants {
    int order[RB_POLLUX_POPULATION];
    int n, n_used;
};

static int next_contestant(struct contestants *c, struct rb_stream *draws)
{
    if (c->n_used == c->n) {
        for (int i = 0; i < c->n; i++) {
            const int at = rb_pollux_below(draws, i + 1);
            c->order[i] = c->order[at];
            c->order[at] = i;
        }
        c->n_used = 0;
    }
    return c->order[c->n_used++];
}

// Domination decides, then crowding, then a coin.
static int winner(const struct rb_pollux_search *s, struct contestants *c, struct rb_stream *draws)
{
    const int a = next_contestant(c, draws), b = next_contestant(c, draws);
    const struct rb_pollux_member *ma = &s->members[a], *mb = &s->members[b];
    const int dominance = rb_pollux_dominance(ma, mb);
    if (dominance != 0)
        return dominance > 0 ? a : b;
    if (ma->crowding > mb->crowding || ma->crowding < mb->crowding)
        return ma->crowding > mb->crowding ? a : b;
    return rb_stream_u32(draws) & 1 ? a : b;
}

// Makes two children of two parents, behind the members; as many stay as are new and fit.
static void mate(struct rb_pollux_search *s, struct contestants *c, struct rb_stream *draws, int n_wanted)
{
    const size_t n_bytes = s->n_row_words * sizeof *s->rows;
    uint64_t *a = s->rows + (size_t)s->members[s->n_members].slot * s->n_row_words;
    uint64_t *b = s->spare;
    memcpy(a, rb_pollux_rows_of(s, winner(s, c, draws)), n_bytes);
    memcpy(b, rb_pollux_rows_of(s, winner(s, c, draws)), n_bytes);
    if (rb_stream_uniform(draws) < CROSSOVER)
        rb_pollux_crossover(s->problem, draws, a, b);
    rb_pollux_mutate(s->problem, draws, a, s->scratch);
    take_in(s, draws);
    if (s->n_members == n_wanted)
        return;
    rb_pollux_mutate(s->problem, draws, b, s->scratch);
    rb_pollux_search_add(s, draws, b);
}

int rb_pollux_search_run(struct rb_pollux_search *s, uint64_t seed, uint32_t round)
{
    struct rb_stream draws;
    struct contestants c;
    rb_stream_init(&draws, &(struct rb_stream_key){.seed = seed, .purpose = RB_DRAW_SHARE, .replicate = round});
    s->n_front = rb_pollux_survive(s->members, s->n_members, s->n_members, &draws);
    for (uint32_t generation = 1; generation < RB_POLLUX_GENERATIONS; generation++) {
        rb_stream_init(&draws, &(struct rb_stream_key){
                                   .seed = seed, .purpose = RB_DRAW_SHARE, .stage = generation, .replicate = round});
        const int n_parents = s->n_members, n_wanted = n_parents + RB_POLLUX_POPULATION;
        c.n = c.n_used = n_parents;
        know_all(s);
        for (int tries = 0; tries < TRIES * RB_POLLUX_POPULATION / 2 && s->n_members < n_wanted; tries++)
            mate(s, &c, &draws, n_wanted);
        const int n_kept = s->n_members < RB_POLLUX_POPULATION ? s->n_members : RB_POLLUX_POPULATION;
        s->n_front = rb_pollux_survive(s->members, s->n_members, n_kept, &draws);
        s->n_members = n_kept;
    }
    int best = 0;
    for (int i = 1; i < s->n_members; i++)
        best = s->members[i].cost[0] < s->members[best].cost[0] ? i : best;
    return best;
}
