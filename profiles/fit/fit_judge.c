// Limits of a fit, and doubts about it, as sentences. Refuses nothing itself.
#include "profiles/store/samples.h"

#include "base/text/buf.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FEW_RUNS             3  // per layout
#define FEW_RUNS_IN_ALL      10 // for the spread between runs
#define FEW_UNITS            10 // degrees of freedom for the spread within runs
#define FEW_PROVISIONS       5
#define SUSPICIOUS_P         0.05 // of a fit that a larger sample would have rejected
#define THROUGHPUT_MAX_ERROR 0.10 // the error that the model's authors reach on six models

struct sayings {
    struct rb_arena *arena;
    const char **items; // heap
    int n;
};

__attribute__((format(printf, 2, 3))) static void say(struct sayings *s, const char *fmt, ...)
{
    struct rb_buf text = RB_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    s->items = rb_xrealloc(s->items, (size_t)s->n + 1, sizeof(*s->items));
    s->items[s->n++] = rb_arena_strdup(s->arena, rb_buf_str(&text));
    rb_buf_finish(&text);
}

static const char *const *keep(struct sayings *s, int *out_n)
{
    const char **kept = rb_arena_array(s->arena, (size_t)s->n, sizeof(*kept));
    for (int i = 0; i < s->n; i++)
        kept[i] = s->items[i];
    free(s->items);
    *out_n = s->n;
    return kept;
}

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

// No extrapolation: on each number of nodes only GPU counts between the measured ones are allowed.
static void limit_nodes(const struct rb_training *t, int nodes, struct sayings *limits)
{
    int fewest = 0, most = 0;
    for (int i = 0; i < t->n_layouts; i++) {
        if (t->layouts[i].nodes == nodes) {
            fewest = fewest ? fewest : t->layouts[i].gpus; // layouts are sorted by nodes, then GPUs
            most = t->layouts[i].gpus;
        }
    }
    if (most == 0)
        say(limits, "%s: a trial on %d node%s, which was not measured", t->accelerator, nodes, plural(nodes));
    else if (nodes == 1)
        say(limits, "%s: more than %d GPU%s on 1 node", t->accelerator, most, plural(most));
    else
        say(limits, "%s: fewer than %d or more than %d GPUs on %d nodes", t->accelerator, fewest, most, nodes);
}

static void limit_layouts(const struct rb_training *t, struct sayings *limits)
{
    for (int nodes = 1; nodes <= t->max_nodes; nodes++)
        limit_nodes(t, nodes, limits);
    say(limits, "%s: a trial over more than %d node%s", t->accelerator, t->max_nodes, plural(t->max_nodes));
}

static void limit_training(const struct rb_profile *p, struct sayings *limits)
{
    struct rb_buf names = RB_BUF_INIT;
    for (int i = 0; i < p->n_training; i++) {
        const struct rb_training *t = &p->training[i];
        if (t->has_throughput) {
            say(limits, "%s: more than %d GPU%s or %d node%s", t->accelerator, t->max_gpus, plural(t->max_gpus),
                t->max_nodes, plural(t->max_nodes));
        } else {
            limit_layouts(t, limits);
        }
        rb_buf_printf(&names, "%s%s", i > 0 ? ", " : "", t->accelerator);
    }
    say(limits, "any accelerator but %s", rb_buf_str(&names));
    rb_buf_finish(&names);
}

static void limit_provisioning(const struct rb_profile *p, struct sayings *limits)
{
    if (p->n_provisioning == 0)
        say(limits, "how long a node takes to arrive, on any cloud (run `rbprofile provision`)");
    for (int i = 0; i < p->n_provisioning; i++) {
        const struct rb_provisioning *v = &p->provisioning[i];
        if (strcmp(v->market, rb_market_name(RB_MARKET_SPOT)) == 0 && !v->has_preemption) {
            say(limits, "%s %s on the spot market: preemptions were not measured (import a spot-csv)", v->infra,
                v->instance_type);
        }
    }
}

static void doubt_sample_sizes(const struct rb_fit_report *r, struct sayings *warnings)
{
    int n_thin = 0, fewest = FEW_RUNS;
    for (int i = 0; i < r->n_cells; i++) {
        n_thin += r->cells[i].n_runs < FEW_RUNS;
        fewest = r->cells[i].n_runs < fewest ? r->cells[i].n_runs : fewest;
    }
    if (n_thin > 0) {
        say(warnings, "%d of %d layouts rest on fewer than %d runs (the least: %d): their means are rough", n_thin,
            r->n_cells, FEW_RUNS, fewest);
    }
    if (!isfinite(r->noise.between_se)) {
        say(warnings, "every layout was run only once: the spread between runs is unknown and taken as 0, so predicted "
                      "intervals are too narrow (measure with --configs 3)");
    } else if (r->noise.n_runs < FEW_RUNS_IN_ALL) {
        say(warnings, "the spread between runs rests on %d runs: cv %.3f, standard error %.3f", r->noise.n_runs,
            r->noise.between_cv, r->noise.between_se);
    }
    if (r->noise.n_units - r->noise.n_runs < FEW_UNITS) {
        say(warnings, "the spread within a run rests on %d units in %d runs (measure longer: --resource)",
            r->noise.n_units, r->noise.n_runs);
    }
}

static void doubt_fit(const char *what, const struct rb_dist_fit *f, struct sayings *warnings)
{
    if (f->poor) {
        say(warnings,
            "%s: no family fits (Kolmogorov-Smirnov %.3f, p %.2g, n %d): the measured values themselves are "
            "drawn from, so nothing longer than the longest seen is expected",
            what, f->ks, f->ks_p, f->n);
    } else if (f->n > 0 && f->ks_p < SUSPICIOUS_P) {
        say(warnings, "%s: %s fits badly (Kolmogorov-Smirnov %.3f, p %.2g), but %d values are too few to replace it",
            what, rb_dist_kind_name(f->dist.kind), f->ks, f->ks_p, f->n);
    }
}

static void doubt_provision(const struct rb_fit_provision *p, struct sayings *warnings)
{
    const char *name = rb_arena_printf(warnings->arena, "%s %s %s", p->infra, p->instance_type, p->market);
    if (p->queue.n == 0) {
        say(warnings, "%s: no request succeeded (%d without capacity, %d timed out): it cannot be planned with", name,
            p->n_capacity, p->n_timeout);
        return;
    }
    if (p->queue.n < FEW_PROVISIONS)
        say(warnings, "%s: its delays rest on %d node%s", name, p->queue.n, plural(p->queue.n));
    if (p->n_timeout > 0) {
        say(warnings, "%s: %d request%s timed out; counted as lack of capacity", name, p->n_timeout,
            plural(p->n_timeout));
    }
    doubt_fit(rb_arena_printf(warnings->arena, "%s, queueing", name), &p->queue, warnings);
    doubt_fit(rb_arena_printf(warnings->arena, "%s, initialisation", name), &p->init, warnings);
}

// Runs of different programs or machines are one sample only if nothing changed between them.
static void doubt_mixtures(const struct rb_samples *s, struct sayings *warnings)
{
    bool commands = false, commits = false, machines = false, units = false, others = false;
    const char *changes[RB_MEASURED_FILES + 2];
    for (int i = 1; i < s->n_runs; i++) {
        commands |= strcmp(s->runs[i].command, s->runs[0].command) != 0;
        commits |= strcmp(s->runs[i].commit, s->runs[0].commit) != 0;
        machines |= strcmp(s->runs[i].machine, s->runs[0].machine) != 0;
        units |= strcmp(s->runs[i].unit, s->runs[0].unit) != 0;
        others |= rb_measured_changes(&s->runs[0].of, &s->runs[i].of, changes) > 0;
    }
    if (others && !commands && !commits) {
        say(warnings, "runs of different parameters or scripts are mixed: what changed between them counts as noise "
                      "(`rbprofile train JOB.yaml --fresh` measures afresh and forgets the old runs)");
    }
    if (commands || commits) {
        say(warnings, "runs of different %s are mixed: what changed between them counts as noise",
            commands && commits ? "commands and commits"
            : commands          ? "commands"
                                : "commits");
    }
    if (machines)
        say(warnings, "runs on different machines are mixed: their difference counts as noise between runs");
    if (units)
        say(warnings, "runs that call their unit of resource by different names are mixed");
}

static void doubt_throughput(const struct rb_fit_report *r, struct sayings *warnings)
{
    if (r->throughput_error > THROUGHPUT_MAX_ERROR) {
        say(warnings, "the throughput model misses measured iterations by %.1f %% on average (good is below %.0f %%)",
            100 * r->throughput_error, 100 * THROUGHPUT_MAX_ERROR);
    }
    if (r->throughput_error >= 0 && r->n_cells == 0) {
        say(warnings, "only iterations were measured, no runs: start-up, checkpoints and noise within a run are taken "
                      "as none; noise between runs is the scatter around the model (run `rbprofile train`)");
    }
}

static void doubt_runs(const struct rb_samples *s, const struct rb_fit_report *r, struct sayings *warnings)
{
    if (r->startup.n == 1 || r->checkpoint.n == 1) {
        say(warnings,
            "the time of %s was measured once: its error is unknown, and predicted "
            "intervals are too narrow",
            r->startup.n == 1 ? "a start-up" : "a checkpoint");
    }
    if (r->profile.restarts) {
        say(warnings, "the script does not resume from a checkpoint: every stage trains from the beginning again, and "
                      "plans charge that");
    }
    doubt_sample_sizes(r, warnings);
    doubt_mixtures(s, warnings);
    doubt_fit("start-up", &r->startup, warnings);
    doubt_fit("checkpoint", &r->checkpoint, warnings);
    if (r->checkpoint.n == 0)
        say(warnings, "no checkpoint was measured: its time is taken as 0");
    if (r->dominant_param) {
        say(warnings,
            "hyperparameter %s explains %.0f %% of the spread between configurations: trials will be faster "
            "or slower by its value, which the profile counts as noise",
            r->dominant_param, 100 * r->dominant_share);
    }
}

void rb_fit_judge(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report)
{
    struct sayings limits = {.arena = arena}, warnings = {.arena = arena};
    limit_training(&report->profile, &limits);
    limit_provisioning(&report->profile, &limits);
    if (report->imported && s->n_runs + s->n_throughputs > 0) {
        say(&warnings,
            "an imported profile hides %d measured runs of the same name (`rbprofile fit %s` shows their fit)",
            s->n_runs, s->profile);
    }
    if (!report->imported)
        doubt_throughput(report, &warnings);
    if (report->n_cells > 0)
        doubt_runs(s, report, &warnings);
    for (int i = 0; i < report->n_provisions; i++)
        doubt_provision(&report->provisions[i], &warnings);
    report->limits = keep(&limits, &report->n_limits);
    report->warnings = keep(&warnings, &report->n_warnings);
}
