// Policies that share a cluster, on the same traces and their relatives:
//
//     bench/sharing_study APPS RULES TRACE... [policy=NAME] [seed=S] [variants=N] [KEY=VALUE]...
//
// APPS: measured applications. RULES: osdi21 or events. TRACE: job traces. Every trace is run at loads 1, 1/2, 3/2 and 2 (the
// same jobs, submitted closer or farther apart), and N times with arrivals moved by up to ten minutes either way and
// applications assigned again. KEY=VALUE: rules of `goodput` other than the defaults (engine/sharing/goodput.h). A line a run:
// trace, variant, mean, p50, p99 of completion times, makespan, restarts a job, CPU seconds.
#include "base/stream.h"
#include "base/text/units.h"
#include "engine/sharing/goodput.h"
#include "simulator/cluster/trace_run.h"
#include "simulator/cluster/trace_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JITTER_US (600 * (int64_t)RB_US_PER_S)

struct study {
    struct rb_apps apps;
    struct rb_trace_options options;
    struct rb_sharing policy; // `goodput` with other rules, where some were given
    struct rb_goodput_rules rules;
    int n_loads, n_variants;
};

// What create() of the changed policy reads; one study a process.
static const struct rb_goodput_rules *rules_in_use;

static void die(const struct rb_err *err)
{
    fprintf(stderr, "sharing_study: %s\n", err->message);
    exit(1);
}

static bool create_with_rules(const struct rb_sharing_options *options, void **out_state, struct rb_err *err)
{
    return rb_goodput_create(options, rules_in_use, out_state, err);
}

// ---- relatives of a trace

static int by_submission(const void *pa, const void *pb)
{
    const struct rb_trace_job *a = pa, *b = pb;
    if (a->submitted_us != b->submitted_us)
        return a->submitted_us < b->submitted_us ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static struct rb_trace_job *copy_jobs(const struct rb_trace *trace)
{
    struct rb_trace_job *jobs = rb_xcalloc((size_t)trace->n, sizeof *jobs);
    memcpy(jobs, trace->jobs, (size_t)trace->n * sizeof *jobs);
    return jobs;
}

static void scale_times(struct rb_trace_job *jobs, int n, double factor)
{
    for (int j = 0; j < n; j++)
        jobs[j].submitted_us = (int64_t)((double)(jobs[j].submitted_us / RB_US_PER_S) * factor) * RB_US_PER_S;
}

static void perturb(struct rb_trace_job *jobs, int n, uint32_t variant)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH, .replicate = variant});
    for (int j = n - 1; j > 0; j--) {
        const uint64_t k = rb_stream_below(&s, (uint64_t)j + 1);
        const struct rb_trace_job other = jobs[k];
        jobs[k].app = jobs[j].app;
        jobs[k].gpus = jobs[j].gpus;
        jobs[k].batch = jobs[j].batch;
        jobs[j].app = other.app;
        jobs[j].gpus = other.gpus;
        jobs[j].batch = other.batch;
    }
    for (int j = 0; j < n; j++) {
        const int64_t moved = (int64_t)((rb_stream_uniform(&s) * 2 - 1) * (double)JITTER_US);
        const int64_t at = jobs[j].submitted_us + moved / RB_US_PER_S * RB_US_PER_S;
        jobs[j].submitted_us = at > 0 ? at : 0;
    }
    qsort(jobs, (size_t)n, sizeof *jobs, by_submission);
}

// ---- a run

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(const struct study *s, const struct rb_trace_job *jobs, int n, const char *name, const char *variant)
{
    const struct rb_trace trace = {.apps = &s->apps, .jobs = jobs, .n = n};
    struct rb_trace_run r;
    struct rb_err err;
    const double started_s = cpu_s();
    if (!rb_trace_run_init(&r, &trace, &s->options, &err) || !rb_trace_run_all(&r, &err))
        die(&err);
    double *fairness = rb_xcalloc((size_t)n, sizeof *fairness);
    for (int j = 0; j < n; j++)
        fairness[j] = NAN; // not asked for
    const struct rb_trace_summary sum = rb_trace_summarise(&r, fairness);
    free(fairness);
    printf("%s %s %.1f %.0f %.0f %.0f %.2f %.2f\n", name, variant, sum.jct_mean_s, sum.jct_p50_s, sum.jct_p99_s,
           sum.makespan_s, sum.restarts_mean, cpu_s() - started_s);
    fflush(stdout);
    rb_trace_run_finish(&r);
}

static void run_relatives(const struct study *s, const char *path)
{
    static const double loads[] = {1, 0.5, 1.5, 2};
    struct rb_trace trace;
    struct rb_err err;
    char variant[32];
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (!rb_trace_read(&trace, path, &s->apps, &err))
        die(&err);
    for (int i = 0; i < s->n_loads; i++) {
        struct rb_trace_job *jobs = copy_jobs(&trace);
        scale_times(jobs, trace.n, 1 / loads[i]);
        snprintf(variant, sizeof variant, "load-%.1f", loads[i]);
        run(s, jobs, trace.n, name, variant);
        free(jobs);
    }
    for (int i = 0; i < s->n_variants; i++) {
        struct rb_trace_job *jobs = copy_jobs(&trace);
        perturb(jobs, trace.n, (uint32_t)i);
        snprintf(variant, sizeof variant, "perturbed-%d", i);
        run(s, jobs, trace.n, name, variant);
        free(jobs);
    }
    rb_trace_finish(&trace);
}

// ---- arguments

// NULL: there is none.
static double *rule_by_name(struct rb_goodput_rules *r, const char *name)
{
    const struct {
        const char *name;
        double *value;
    } known[] = {
        {"fairness_p", &r->fairness_p},     {"least", &r->least},       {"rank_power", &r->rank_power},
        {"rank_offset", &r->rank_offset},   {"declared", &r->declared}, {"restart_count", &r->restart_count},
        {"restart_cost", &r->restart_cost}, {"urgency", &r->urgency},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) == 0)
            return known[i].value;
    }
    return NULL;
}

static void set_rule(struct study *s, const char *key, double value)
{
    double *rule = rule_by_name(&s->rules, key);
    if (!rule) {
        fprintf(stderr, "sharing_study: no rule '%s'\n", key);
        exit(2);
    }
    *rule = value;
    s->policy = *rb_sharing_find("goodput");
    s->policy.create = create_with_rules;
    s->options.policy = &s->policy;
}

static void read_argument(struct study *s, const char *arg)
{
    char key[64];
    const size_t n = (size_t)(strchr(arg, '=') - arg);
    snprintf(key, sizeof key, "%.*s", (int)n, arg);
    const char *value = arg + n + 1;
    if (strcmp(key, "policy") == 0)
        s->options.policy = rb_sharing_find(value);
    else if (strcmp(key, "seed") == 0)
        s->options.sharing.seed = (uint64_t)atoll(value);
    else if (strcmp(key, "p") == 0)
        s->options.sharing.fairness_p = atof(value);
    else if (strcmp(key, "loads") == 0)
        s->n_loads = atoi(value);
    else if (strcmp(key, "variants") == 0)
        s->n_variants = atoi(value);
    else
        set_rule(s, key, atof(value));
}

int main(int argc, char **argv)
{
    struct study s = {.n_loads = 4};
    struct rb_err err;
    if (argc < 4) {
        fprintf(stderr, "usage: sharing_study APPS osdi21|events TRACE... [KEY=VALUE]...\n");
        return 2;
    }
    rb_trace_options_defaults(&s.options);
    rb_goodput_rules_defaults(&s.rules);
    rules_in_use = &s.rules;
    s.options.rules = strcmp(argv[2], "osdi21") == 0 ? RB_TRACE_OSDI21 : RB_TRACE_EVENTS;
    s.options.policy = rb_sharing_find("goodput");
    for (int i = 3; i < argc; i++) {
        if (strchr(argv[i], '='))
            read_argument(&s, argv[i]);
    }
    if (!s.options.policy || !rb_apps_load(&s.apps, argv[1], &err))
        die(&err);
    for (int i = 3; i < argc; i++) {
        if (!strchr(argv[i], '='))
            run_relatives(&s, argv[i]);
    }
    rb_apps_finish(&s.apps);
    return 0;
}
