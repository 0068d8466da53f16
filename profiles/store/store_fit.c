// Finds the profile of a name: the imported one, or the fit of its raw samples.
#include "profiles/store/samples.h"
#include "profiles/store/store_sql.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_IN_ERROR 20

static bool read_text(sqlite3_stmt *row, struct rb_arena *arena, void *out, struct rb_err *err)
{
    (void)err;
    *(const char **)out = rb_store_text(row, 0, arena);
    return true;
}

// The imported profile of that name; *out_found: whether there is one.
static bool load_imported(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_profile *out,
                          bool *out_found, struct rb_err *err)
{
    void *documents;
    int n;
    if (!rb_store_select(s, "SELECT document FROM profile WHERE name = ?1", name, read_text, sizeof(char *), arena,
                         &documents, &n, err))
        return false;
    *out_found = n > 0;
    if (n == 0)
        return true;
    const char *text = *(const char **)documents;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    return (rb_doc_parse_json(&doc, s->path, text, strlen(text), err) &&
            rb_profile_read(doc.root, name, name, arena, out, err)) ||
           rb_err_prefix(err, "imported profile %s", name);
}

// The entry of the profile that answers for such a spot machine.
static const struct rb_provisioning *answering(struct rb_store *s, const struct rb_profile *p,
                                               const struct rb_spot_market *m, struct rb_err *err)
{
    const struct rb_provisioning *found = rb_profile_provisioning(p, m->infra, m->instance_type, RB_MARKET_SPOT);
    if (!found)
        rb_err_set_at(err, RB_E_PROFILE_MISSING, (struct rb_place){.file = s->path}, NULL,
                      "profile %s does not say how long a spot %s of %s takes to come: add a provisioning entry for it "
                      "with queue_s, init_s and capacity_failure, import the profile, then this table again",
                      p->name, m->instance_type, m->infra);
    return found;
}

static bool is_of(const struct rb_provisioning *p, const struct rb_spot_market *m)
{
    return strcmp(p->infra, m->infra) == 0 && strcmp(p->instance_type, m->instance_type) == 0 &&
           strcmp(p->market, rb_market_name(RB_MARKET_SPOT)) == 0;
}

static bool is_replaced(const struct rb_provisioning *p, const struct rb_spot_market *markets, int n)
{
    bool replaced = false;
    for (int i = 0; i < n && !replaced; i++)
        replaced = is_of(p, &markets[i]);
    return replaced;
}

static bool put_before(struct rb_store *s, struct rb_profile *p, const struct rb_spot_market *markets, int n,
                       struct rb_arena *arena, struct rb_err *err)
{
    struct rb_provisioning *all = rb_arena_array(arena, (size_t)(n + p->n_provisioning), sizeof *all);
    int n_all = 0;
    for (int i = 0; i < n; i++) {
        const struct rb_provisioning *before = answering(s, p, &markets[i], err);
        if (!before)
            return false;
        all[n_all] = *before;
        all[n_all].infra = markets[i].infra;
        all[n_all].instance_type = markets[i].instance_type;
        all[n_all].market = rb_market_name(RB_MARKET_SPOT);
        all[n_all].has_preemption = true;
        all[n_all++].spells = &markets[i].spells;
    }
    for (int i = 0; i < p->n_provisioning; i++) {
        if (!is_replaced(&p->provisioning[i], markets, n))
            all[n_all++] = p->provisioning[i];
    }
    p->provisioning = all;
    p->n_provisioning = n_all;
    return true;
}

bool rb_store_put_markets(struct rb_store *s, const char *name, const struct rb_spot_market *markets, int n,
                          struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_profile p;
    bool found;
    if (!load_imported(s, name, &arena, &p, &found, err))
        return false;
    if (!found)
        return rb_err_set_at(err, RB_E_PROFILE_MISSING, (struct rb_place){.file = s->path}, NULL,
                             "no profile %s was imported, which could take markets: import its file first; of a "
                             "measured one, `rbprofile export %s` makes the file",
                             name, name);
    return put_before(s, &p, markets, n, &arena, err) && rb_store_put_profile(s, &p, err);
}

static bool not_found(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_profile_name *names;
    int n;
    if (!rb_store_list(s, arena, &names, &n, err))
        return false;
    RB_AUTO(rb_buf_finish) struct rb_buf list = RB_BUF_INIT;
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i].name, name) == 0) {
            return rb_err_set_at(err, RB_E_PROFILE_MISSING, (struct rb_place){.file = s->path}, NULL,
                                 "profile %s was imported, nothing was measured for it: there is nothing to fit "
                                 "(`rbprofile show %s` shows it; `rbprofile train JOB.yaml` measures)",
                                 name, name);
        }
    }
    for (int i = 0; i < n && i < NAMES_IN_ERROR; i++)
        rb_buf_printf(&list, "%s%s", i > 0 ? ", " : "", names[i].name);
    return rb_err_set_at(
        err, RB_E_PROFILE_MISSING, (struct rb_place){.file = s->path}, NULL,
        "there is no profile %s (there %s: %s%s): run `rbprofile train JOB.yaml`, or `rbprofile import "
        "FILE`",
        name, n == 1 ? "is" : "are", n > 0 ? rb_buf_str(&list) : "none", n > NAMES_IN_ERROR ? ", ..." : "");
}

static const char *describe_source(const struct rb_samples *s, struct rb_arena *arena)
{
    if (s->n_runs == 0)
        return "fitted by rbprofile from imported iteration times";
    const struct rb_run_sample *last = &s->runs[0];
    int n_units = 0;
    for (int i = 0; i < s->n_runs; i++) {
        n_units += s->runs[i].n_units;
        last = s->runs[i].measured_at_us > last->measured_at_us ? &s->runs[i] : last;
    }
    char when[32];
    return rb_arena_printf(arena, "fitted by rbprofile from %d runs (%d units), the last on %s at %s: %s", s->n_runs,
                           n_units, last->machine, rb_format_instant(last->measured_at_us, when), last->command);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), rb_order_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int count_configurations(const struct rb_samples *s)
{
    int n = 0;
    for (int i = 0; i < s->n_runs; i++) {
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = strcmp(s->runs[k].config_json, s->runs[i].config_json) == 0;
        n += !seen;
    }
    return n;
}

// The newest run describes command and machine; the load is that of all runs with a known load.
static void describe_measuring(const struct rb_samples *s, struct rb_profile *p)
{
    const struct rb_run_sample *last = &s->runs[0];
    struct rb_measured *m = &p->measured;
    RB_AUTO(rb_auto_free) double *loads = rb_xcalloc((size_t)s->n_runs, sizeof(*loads));
    int n_loads = 0;
    *m = (struct rb_measured){.configurations = count_configurations(s), .load = -1};
    for (int i = 0; i < s->n_runs; i++) {
        const struct rb_run_sample *run = &s->runs[i];
        m->units += run->n_units;
        last = run->measured_at_us > last->measured_at_us ? run : last;
        if (run->cpus > 0) {
            loads[n_loads++] = run->load;
            m->cpus = run->cpus;
        }
    }
    m->load = n_loads > 0 ? median(loads, n_loads) : -1;
    m->at_us = last->measured_at_us;
    m->of = last->of;
    p->restarts = last->restarts;
    p->has_measured = true;
}

static void describe_learning(const struct rb_samples *s, struct rb_fit_report *report)
{
    for (int i = 0; i < s->n_runs; i++) {
        int k = 0;
        if (!s->runs[i].of_run)
            continue;
        while (!s->runs[k].of_run || strcmp(s->runs[k].of_run, s->runs[i].of_run) != 0)
            k++;
        report->n_learned_from += k == i;
        report->n_learned++;
    }
}

// A profile's own provisioning has priority: shared measurements come after it.
static void append_measured_provisioning(struct rb_fit_report *report, struct rb_arena *arena)
{
    struct rb_profile *p = &report->profile;
    int n_measured;
    const struct rb_provisioning *measured = rb_provision_entries(report, arena, &n_measured);
    struct rb_provisioning *all = rb_arena_array(arena, (size_t)(p->n_provisioning + n_measured), sizeof(*all));
    for (int i = 0; i < p->n_provisioning; i++)
        all[i] = p->provisioning[i];
    for (int i = 0; i < n_measured; i++)
        all[p->n_provisioning + i] = measured[i];
    p->provisioning = all;
    p->n_provisioning += n_measured;
}

static bool fit(struct rb_store *s, const char *name, bool use_imported, struct rb_arena *arena,
                struct rb_fit_report *out, struct rb_err *err)
{
    struct rb_fit_report report = {.throughput_error = -1};
    struct rb_samples samples;
    if ((use_imported && !load_imported(s, name, arena, &report.profile, &report.imported, err)) ||
        !rb_store_load_samples(s, name, arena, &samples, err))
        return false;
    if (!report.imported && samples.n_runs + samples.n_throughputs == 0)
        return not_found(s, name, arena, err);
    if (!report.imported) {
        report.profile.name = samples.profile;
        report.profile.unit = samples.n_runs > 0 ? samples.runs[0].unit : "epoch";
        report.profile.source = describe_source(&samples, arena);
        if (!rb_training_fit(&samples, arena, &report, err))
            return false;
        if (samples.n_runs > 0)
            describe_measuring(&samples, &report.profile);
        describe_learning(&samples, &report);
    }
    if (!rb_provision_fit(&samples, arena, &report, err))
        return false;
    append_measured_provisioning(&report, arena);
    if (!rb_reading_fit(&samples, arena, &report, err))
        return false;
    rb_fit_judge(&samples, arena, &report);
    *out = report;
    return true;
}

bool rb_store_fit(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_fit_report *out,
                  struct rb_err *err)
{
    return fit(s, name, true, arena, out, err);
}

bool rb_store_fit_samples(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_fit_report *out,
                          struct rb_err *err)
{
    return fit(s, name, false, arena, out, err);
}

bool rb_store_profile(struct rb_store *s, const char *name, struct rb_arena *arena, struct rb_profile *out,
                      struct rb_err *err)
{
    struct rb_fit_report report;
    if (!rb_store_fit(s, name, arena, &report, err))
        return false;
    *out = report.profile;
    return true;
}
