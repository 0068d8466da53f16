// Spot nodes under a deadline: greedy, uniform progress (UP), the policy with its guard (simulator/spot/), and an
// omniscient one, replayed on a table of capacity. Each is fitted on the first part of the table and replayed on the rest.
//
//     spot one|gangs|jobs|late CAPACITY.csv.gz [STARTS]
//
// one: one trial on one node; gangs: of 4 and 8 nodes; jobs: a tuning job; late: STARTS replays of one trial and of jobs,
// with cold starts that vary, from all of the table. Prints tables in Markdown.
#include "bench/spot/play.h"

#include "base/arena.h"
#include "base/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DAY = 1440, STARTS = 60, N_HOURS = 3, N_RATIOS = 3, OMNISCIENT = SPOT_RULES, N_COLUMNS };
static const double hours[N_HOURS] = {4, 8, 24}, ratios[N_RATIOS] = {1.1, 1.25, 1.5};
#define PRICE_RATIO 3.3

struct group {
    const char *name, *set, *zones[MOST_ZONES + 1];
    int least, times; // nodes of a gang; nodes that one probe stands for
    int fitted_min;   // the first minutes of the table, of which the market is learned
};

#define FITTED (DAY * 114 / 10)
#define EAST_1 "us-east-1a", "us-east-1c", "us-east-1d", "us-east-1f"
#define EAST_2 "us-east-2a", "us-east-2b"
#define WEST_2 "us-west-2a", "us-west-2b", "us-west-2c"
static const struct group groups[] = {
    {"east-1c", "v100-9zones-2023-02", {"us-east-1c"}, 1, 1, FITTED},
    {"east-1(4)", "v100-9zones-2023-02", {EAST_1}, 1, 1, FITTED},
    {"east-2(2)", "v100-9zones-2023-02", {EAST_2}, 1, 1, FITTED},
    {"west-2(3)", "v100-9zones-2023-02", {WEST_2}, 1, 1, FITTED},
    {"all(9)", "v100-9zones-2023-02", {EAST_1, EAST_2, WEST_2}, 1, 1, FITTED},
};
static const struct group gangs[] = {
    {"east-2b+west-2a+c, 4", "v100-16nodes-2023-08", {"us-east-2b", "us-west-2a", "us-west-2c"}, 4, 1, 3 * DAY},
    {"west-2a+c, 4", "v100-16nodes-2023-08", {"us-west-2a", "us-west-2c"}, 4, 1, 3 * DAY},
    {"east-2b+west-2a+c, 8", "v100-16nodes-2023-08", {"us-east-2b", "us-west-2a", "us-west-2c"}, 8, 1, 3 * DAY},
    {"east-1f, 4", "v100-4nodes-2023-08", {"us-east-1f"}, 4, 1, 3 * DAY},
};
static const struct group pools[] = {
    {"16-node, 3 zones", "v100-16nodes-2023-08", {"us-east-2b", "us-west-2a", "us-west-2c"}, 0, 0, 3 * DAY},
    {"16-node, east-2b", "v100-16nodes-2023-08", {"us-east-2b"}, 0, 0, 3 * DAY},
    {"16-node, west-2a+c", "v100-16nodes-2023-08", {"us-west-2a", "us-west-2c"}, 0, 0, 3 * DAY},
    {"east-1c, x16", "v100-9zones-2023-02", {"us-east-1c"}, 1, 16, FITTED},
    {"east-1, x16", "v100-9zones-2023-02", {EAST_1}, 1, 16, FITTED},
    {"west-2, x16", "v100-9zones-2023-02", {WEST_2}, 1, 16, FITTED},
};

struct market {
    const struct group *group;
    struct spot_zone zones[MOST_ZONES];
    struct rb_spells spells[MOST_ZONES];
    int n, minutes;
};

static void read_market(const struct rb_csv *csv, const struct group *g, struct rb_arena *arena, struct market *out)
{
    *out = (struct market){.group = g};
    spot_zones_read(csv, g->set, g->zones, g->least, g->times, arena, out->zones);
    while (g->zones[out->n])
        out->n++;
    out->minutes = out->zones[0].minutes;
    for (int z = 0; z < out->n; z++) {
        out->spells[z] = spot_zone_fit(out->zones, out->n, z, g->fitted_min, arena);
        out->minutes = out->zones[z].minutes < out->minutes ? out->zones[z].minutes : out->minutes;
    }
}

static struct rb_spot_policy *make_policy(const struct market *m, const struct spot_job *job)
{
    struct rb_market_source sources[MOST_ZONES];
    struct rb_spot_stage stages[4];
    struct rb_market_mix mix;
    double work_min = 0;
    for (int z = 0; z < m->n; z++) {
        sources[z] = (struct rb_market_source){.spells = &m->spells[z]};
        while (strcmp(m->zones[sources[z].region].whole.region, m->zones[z].whole.region) != 0)
            sources[z].region++;
    }
    rb_market_mix_init(&mix, sources, m->n, 180);
    for (int s = 0; s < job->n_stages; s++) {
        const double every_s = job->save_every_min * 60.0;
        stages[s] = (struct rb_spot_stage){job->stages[s].trials, job->stages[s].work_min * 60.0,
                                           job->save_every_min < 0 ? INFINITY : every_s};
        work_min += job->stages[s].work_min;
    }
    return rb_spot_policy_create(&(struct rb_spot_problem){
        .mix = &mix,
        .stages = stages,
        .n_stages = job->n_stages,
        .start_s = (job->start_least_min + job->start_most_min) * 30.0,
        .start_most_s = job->start_most_min * 60.0,
        .ratio = PRICE_RATIO,
        .slack_s = (job->deadline_min - work_min - (job->n_stages - 1) * job->start_most_min) * 60.0,
    });
}

// A random start from a minute of the table on, with room for the deadline.
static void draw_start(const struct market *m, struct spot_job *job, int from_min, uint32_t replicate)
{
    const int room = m->minutes - from_min - job->deadline_min;
    const double u =
        rb_stream_first_uniform(&(struct rb_stream_key){.purpose = RB_DRAW_SEARCH, .replicate = replicate});
    job->start_min = from_min + (int)(u * room);
    job->replicate = replicate;
}

// --- one trial

struct cell {
    double share[N_COLUMNS];
    double spread; // of the policy's share, from start to start
    int late[N_COLUMNS];
};

static struct spot_job one_trial(const struct market *m, double work_h, double ratio, int start_min)
{
    struct spot_job job = {
        .zones = m->zones,
        .n_zones = m->n,
        .deadline_min = (int)(work_h * 60 * ratio + .5) / 3 * 3,
        .step_min = 3,
        .every = 1,
        .stages = {{1, (int)(work_h * 60)}},
        .n_stages = 1,
        .start_least_min = start_min,
        .start_most_min = start_min,
        .ratio = PRICE_RATIO,
    };
    return job;
}

static struct cell play_cell(const struct market *m, struct spot_job *job, int starts)
{
    struct cell c = {0};
    double squares = 0;
    struct rb_spot_policy *policy = make_policy(m, job);
    for (int i = 0; i < starts; i++) {
        draw_start(m, job, m->group->fitted_min, (uint32_t)i);
        for (enum spot_rule r = 0; r < SPOT_RULES; r++) {
            const struct spot_played p = spot_play(job, r, policy);
            c.share[r] += p.share / starts;
            c.late[r] += p.late;
            squares += r == SPOT_POLICY ? p.share * p.share / starts : 0;
        }
        c.share[OMNISCIENT] += (job->n_stages == 1 ? spot_play_omniscient(job) : 0) / starts;
    }
    rb_spot_policy_destroy(policy);
    c.spread = sqrt(fmax(0, squares - c.share[SPOT_POLICY] * c.share[SPOT_POLICY]));
    return c;
}

struct total {
    int cells, gaps, late, above_better;
    double closed, worst_closed, over_better, worst_over_better, over_omniscient, worst_over_omniscient, widest;
};

static void add(struct total *t, const struct cell *c)
{
    const double ours = c->share[SPOT_POLICY], gap = c->share[SPOT_UNIFORM] - c->share[OMNISCIENT];
    const double over = ours / fmin(c->share[SPOT_GREEDY], c->share[SPOT_UNIFORM]) - 1;
    t->worst_closed = t->gaps == 0 ? 1 : t->worst_closed;
    if (gap > .02) {
        t->gaps++;
        t->closed += (c->share[SPOT_UNIFORM] - ours) / gap;
        t->worst_closed = fmin(t->worst_closed, (c->share[SPOT_UNIFORM] - ours) / gap);
    }
    t->worst_over_better = t->cells == 0 ? over : fmax(t->worst_over_better, over);
    t->cells++;
    t->late += c->late[SPOT_POLICY];
    t->over_better += over;
    t->above_better += over > .01;
    t->over_omniscient += ours / c->share[OMNISCIENT] - 1;
    t->widest = fmax(t->widest, c->spread);
    t->worst_over_omniscient = fmax(t->worst_over_omniscient, ours / c->share[OMNISCIENT] - 1);
}

static void print_total(const struct total *t)
{
    printf(
        "\n%d cells. Of the gap between UP and the omniscient where it exceeds .02 (%d cells) the policy closes %.2f "
        "(worst %.2f). Over the omniscient %.1f %% (worst %.0f %%); over the better of greedy and UP %.1f %% (worst "
        "%.1f %%, above 1 %% in %d). Late: %d. A cell of %d random starts would have a standard deviation of up to "
        "%.2f.\n\n",
        t->cells, t->gaps, t->closed / t->gaps, t->worst_closed, 100 * t->over_omniscient / t->cells,
        100 * t->worst_over_omniscient, 100 * t->over_better / t->cells, 100 * t->worst_over_better, t->above_better,
        t->late, STARTS, t->widest / sqrt(STARTS));
}

static void print_head(int n_hours)
{
    printf("| zones |");
    for (int i = 0; i < n_hours * N_RATIOS; i++)
        printf(" %g h × %g |", hours[i / N_RATIOS], ratios[i % N_RATIOS]);
    printf("\n|---|");
    for (int i = 0; i < n_hours * N_RATIOS; i++)
        printf("---|");
    printf("\n");
}

static void single_trials(const struct rb_csv *csv, const struct group *list, int n, int n_hours, int start_min,
                          int starts, struct rb_arena *arena, struct total *total)
{
    printf("Cold start %d min: greedy / UP / policy / omniscient.\n\n", start_min);
    print_head(n_hours);
    for (int g = 0; g < n; g++) {
        struct market m;
        read_market(csv, &list[g], arena, &m);
        printf("| %s |", m.group->name);
        for (int i = 0; i < n_hours * N_RATIOS; i++) {
            struct spot_job job = one_trial(&m, hours[i / N_RATIOS], ratios[i % N_RATIOS], start_min);
            const struct cell c = play_cell(&m, &job, starts);
            printf(" %.2f/%.2f/%.2f/%.2f |", c.share[0], c.share[1], c.share[2], c.share[OMNISCIENT]);
            fflush(stdout);
            add(total, &c);
        }
        printf("\n");
    }
}

// --- tuning jobs

static struct spot_job tuning_job(const struct market *m, double ratio, int save_every_min)
{
    struct spot_job job = {
        .zones = m->zones,
        .n_zones = m->n,
        .deadline_min =
            (int)((30 + 60 + 180 + 3 * 6) * ratio + .5) / 3 * 3, // of the time on demand, cold starts included
        .step_min = 3,
        .every = 1,
        .stages = {{16, 30}, {5, 60}, {1, 180}},
        .n_stages = 3,
        .save_every_min = save_every_min,
        .start_least_min = 6,
        .start_most_min = 6,
        .starts_count = true,
        .ratio = PRICE_RATIO,
    };
    return job;
}

static void jobs(const struct rb_csv *csv, int starts, struct rb_arena *arena)
{
    printf("Greedy with the net / policy / policy without saves, late shares of the policies in brackets.\n\n| market "
           "| × 1.1 "
           "| × 1.25 | × 1.5 |\n|---|---|---|---|\n");
    for (size_t g = 0; g < sizeof pools / sizeof *pools; g++) {
        struct market m;
        read_market(csv, &pools[g], arena, &m);
        printf("| %s |", m.group->name);
        for (int r = 0; r < N_RATIOS; r++) {
            struct spot_job saves = tuning_job(&m, ratios[r], 9), none = tuning_job(&m, ratios[r], -1);
            const struct cell with = play_cell(&m, &saves, starts), without = play_cell(&m, &none, starts);
            printf(" %.2f/%.2f/%.2f (%g, %g) |", with.share[SPOT_GREEDY], with.share[SPOT_POLICY],
                   without.share[SPOT_POLICY], (double)with.late[SPOT_POLICY] / starts,
                   (double)without.late[SPOT_POLICY] / starts);
            fflush(stdout);
        }
        printf("\n");
    }
}

// --- lateness

// Decisions every three minutes on a clock of minutes; cold starts of 2 to 6 minutes.
static int count_late(const struct market *m, struct spot_job *job, int starts, uint32_t first)
{
    int late = 0;
    job->step_min = 1;
    job->every = 3;
    job->start_least_min = 2;
    struct rb_spot_policy *policy = make_policy(m, job);
    for (int i = 0; i < starts; i++) {
        draw_start(m, job, 0, first + (uint32_t)i);
        late += spot_play(job, SPOT_POLICY, policy).late;
    }
    rb_spot_policy_destroy(policy);
    return late;
}

static void lateness(const struct rb_csv *csv, int starts, struct rb_arena *arena)
{
    enum { LENGTHS = 4, SAVES = 3, CASES = LENGTHS * LENGTHS };
    static const double late_hours[LENGTHS] = {1, 2, 6, 12}, late_ratios[LENGTHS] = {1.1, 1.15, 2, 3};
    static const int saves[SAVES] = {0, 9, -1};
    printf("| replays | cases | late |\n|---|---|---|\n");
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        struct market m;
        int late = 0;
        read_market(csv, &groups[g], arena, &m);
        for (int i = 0; i < CASES; i++) {
            struct spot_job job = one_trial(&m, late_hours[i / LENGTHS], late_ratios[i % LENGTHS], 6);
            job.save_every_min = saves[i % SAVES];
            late += count_late(&m, &job, starts / CASES, (uint32_t)(10000 * i));
        }
        printf("| %d | one trial, %s | %d |\n", starts / CASES * CASES, m.group->name, late);
    }
    for (size_t g = 0; g < sizeof pools / sizeof *pools; g++) {
        struct market m;
        int late = 0;
        read_market(csv, &pools[g], arena, &m);
        for (int i = 0; i < N_RATIOS * SAVES; i++) {
            struct spot_job job = tuning_job(&m, ratios[i / SAVES], saves[i % SAVES]);
            late += count_late(&m, &job, starts / (N_RATIOS * SAVES), (uint32_t)(10000 * i));
        }
        printf("| %d | tuning job, %s | %d |\n", starts / (N_RATIOS * SAVES) * (N_RATIOS * SAVES), m.group->name, late);
    }
}

int main(int argc, char **argv)
{
    struct rb_csv csv;
    struct rb_err err = {0};
    struct rb_arena arena = {0};
    struct total total = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: spot one|gangs|jobs|late CAPACITY.csv.gz [STARTS]\n");
        return 2;
    }
    must(rb_csv_read(&csv, argv[2], &err), &err);
    const int starts = argc > 3 ? atoi(argv[3]) : STARTS;
    if (strcmp(argv[1], "one") == 0) {
        single_trials(&csv, groups, 5, 3, 6, starts, &arena, &total);
        printf("\n");
        single_trials(&csv, groups, 5, 3, 3, starts, &arena, &total);
        print_total(&total);
    } else if (strcmp(argv[1], "gangs") == 0) {
        single_trials(&csv, gangs, 4, 2, 6, starts, &arena, &total);
        print_total(&total);
    } else if (strcmp(argv[1], "jobs") == 0) {
        jobs(&csv, starts, &arena);
    } else {
        lateness(&csv, starts, &arena);
    }
    rb_csv_finish(&csv);
    rb_arena_finish(&arena);
    return 0;
}
