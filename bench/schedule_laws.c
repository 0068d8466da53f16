// The laws of simulator/list_schedule/list_schedule.h on random schedules, beside laws of the same at a tenth of the accuracy or less: how
// often, and by how much, a law is further from the truth than it says, below, about and above its middle.
//   schedule_laws SCHEDULES SEED [ACCURACY]     one line for each kind of schedule; without an accuracy 1e-4, then 2e-3
#include "base/stream.h"
#include "simulator/list_schedule/list_schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FINEST 1e-5

enum kind { OPEN_SLOTS, NODES_OF_ONE, NODES_OF_SEVERAL, BOTH, N_KINDS };
static const char *const kind_names[] = {"open slots", "new nodes of one slot", "new nodes of several slots",
                                         "open slots and new nodes of several"};

static const struct {
    const char *name;
    double from, to; // P(end <= t)
} regions[] = {{"below", 1e-4, 0.02}, {"middle", 0.02, 0.9}, {"above", 0.9, 0.9999}};
enum { N_REGIONS = 3 };

struct tally {
    int laws, refused, more_than_said;
    double cpu_s, worst[N_REGIONS];
};

static double uniform(struct rb_stream *s, double low, double high)
{
    return low + (high - low) * rb_stream_uniform(s);
}

static int choose(struct rb_stream *s, int n)
{
    return (int)uniform(s, 0, n);
}

static struct rb_law random_law(double mean, double cv, struct rb_arena *arena)
{
    struct rb_dist d = {.kind = RB_DIST_LOGNORMAL, .mean = mean, .cv = cv};
    struct rb_err err;
    if (!rb_dist_prepare(&d, &err)) {
        fprintf(stderr, "schedule_laws: %s\n", err.message);
        exit(1);
    }
    return rb_law_of_dist(&d, arena);
}

// trial and arrival are what it points to.
static struct rb_list_schedule random_schedule(enum kind kind, struct rb_stream *s, struct rb_law *trial,
                                               struct rb_law *arrival, struct rb_arena *arena)
{
    static const double cvs[] = {0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5};
    const double mean_s = uniform(s, 20, 220), arrival_s = mean_s * uniform(s, 0.2, 2.7);
    struct rb_list_schedule out = {.trial = trial, .arrival = arrival, .slots_per_node = 1};
    *trial = random_law(mean_s, cvs[choose(s, 7)], arena);
    *arrival = random_law(arrival_s, uniform(s, 0.15, 0.55), arena);
    if (kind == NODES_OF_SEVERAL || kind == BOTH)
        out.slots_per_node = 2 << choose(s, 3);
    if (kind != OPEN_SLOTS)
        out.new_nodes = 1 + (int)(20 * pow(rb_stream_uniform(s), 2));
    out.open_slots = kind == OPEN_SLOTS ? 1 + choose(s, 40) : kind == BOTH ? 1 + choose(s, 12) : 0;
    const double slots = out.open_slots + (double)out.new_nodes * out.slots_per_node;
    const double waves = uniform(s, 0.4, 1) + 4 * pow(rb_stream_uniform(s), 2);
    out.n_trials = (int)fmin(300, fmax(out.open_slots + 1, slots * waves));
    return out;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compare(const struct rb_law *law, const struct rb_law *truth, struct tally *io)
{
    bool more = false;
    for (int r = 0; r < N_REGIONS; r++) {
        for (double u = regions[r].from; u < regions[r].to; u += (regions[r].to - regions[r].from) / 50) {
            const double t = rb_law_quantile(truth, u), off = fabs(rb_law_below(law, t) - rb_law_below(truth, t));
            io->worst[r] = fmax(io->worst[r], off);
            more |= off > law->error + truth->error;
        }
    }
    io->more_than_said += more;
}

static void check(enum kind kind, struct rb_stream *s, double accuracy, struct tally *io)
{
    struct rb_arena arena;
    struct rb_law trial, arrival, law, truth;
    const char *why = NULL;
    rb_arena_init(&arena);
    const struct rb_list_schedule schedule = random_schedule(kind, s, &trial, &arrival, &arena);
    const double before_s = cpu_seconds();
    const bool made = rb_list_schedule_law(&schedule, accuracy, accuracy, &arena, &law, &why);
    io->cpu_s += cpu_seconds() - before_s;
    io->refused += !made;
    if (made && rb_list_schedule_law(&schedule, FINEST, accuracy / 10, &arena, &truth, &why)) {
        io->laws++;
        compare(&law, &truth, io);
    }
    rb_arena_finish(&arena);
}

static void check_kind(enum kind kind, int n, uint64_t seed, double accuracy)
{
    struct tally tally = {0};
    for (int i = 0; i < n; i++) {
        struct rb_stream s;
        rb_stream_init(&s,
                       &(struct rb_stream_key){.seed = seed, .purpose = (enum rb_purpose)kind, .index = (uint32_t)i});
        check(kind, &s, accuracy, &tally);
    }
    printf("%-36s accuracy %g: %d laws compared, %d refused, %4.0f us each, %d off by more than they say; worst",
           kind_names[kind], accuracy, tally.laws, tally.refused, 1e6 * tally.cpu_s / n, tally.more_than_said);
    for (int r = 0; r < N_REGIONS; r++)
        printf(" %s %.1e", regions[r].name, tally.worst[r]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 0;
    if (argc < 3 || argc > 4 || n < 1) {
        fprintf(stderr, "usage: schedule_laws SCHEDULES SEED [ACCURACY]\n");
        return 2;
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        if (argc == 4) {
            check_kind((enum kind)kind, n, strtoull(argv[2], NULL, 10), atof(argv[3]));
            continue;
        }
        check_kind((enum kind)kind, n, strtoull(argv[2], NULL, 10), 1e-4);
        check_kind((enum kind)kind, n, strtoull(argv[2], NULL, 10), 2e-3);
    }
    return 0;
}
