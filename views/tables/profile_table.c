#include "views/tables/profile_table.h"

#include "base/document/json.h"
#include "profiles/catalog/infra.h"
#include "views/tables/text_table.h"

#include <math.h>
#include <string.h>

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static const struct rb_fit_cell *cell_of(const struct rb_fit_report *r, const char *accelerator, int gpus, int nodes)
{
    for (int i = 0; i < r->n_cells; i++) {
        const struct rb_fit_cell *c = &r->cells[i];
        if (c->gpus == gpus && c->nodes == nodes && strcmp(c->accelerator, accelerator) == 0)
            return c;
    }
    return NULL;
}

static void show_layouts(const struct rb_fit_report *r, const struct rb_training *t, struct rb_buf *out)
{
    rb_buf_printf(out, "  %-16s %5s %6s %6s %7s %12s %12s %9s\n", "accelerator", "gpus", "nodes", "runs", "units",
                  "mean", "std error", "speed-up");
    for (int i = 0; i < t->n_layouts; i++) {
        const struct rb_layout *l = &t->layouts[i];
        const struct rb_fit_cell *c = cell_of(r, t->accelerator, l->gpus, l->nodes);
        rb_buf_printf(out, "  %-16s %5d %6d ", i == 0 ? t->accelerator : "", l->gpus, l->nodes);
        if (c)
            rb_buf_printf(out, "%6d %7d %#10.4g s %#10.2g s", c->n_runs, c->n_units, c->mean_s, c->se_s);
        else
            rb_buf_printf(out, "%6s %7s %#10.4g s %12s", "-", "-", t->base_s / l->speedup, "-");
        rb_buf_printf(out, " %9.3f\n", l->speedup);
    }
}

static void show_throughput(const struct rb_fit_report *r, const struct rb_training *t, struct rb_buf *out)
{
    const struct rb_throughput *p = &t->throughput;
    rb_buf_printf(out, "  %s: throughput model, batch %g per GPU, %g iterations a unit, %.4g s a unit on 1 GPU",
                  t->accelerator, t->batch, t->units_per_epoch, t->base_s);
    if (r->throughput_error >= 0)
        rb_buf_printf(out, ", mean error %.1f %%", 100 * r->throughput_error);
    rb_buf_printf(out,
                  "\n    gradient %.4g s + %.4g s a sample; synchronisation on one node %.4g s + %.4g s a GPU, over "
                  "nodes %.4g s + %.4g s a GPU; overlap exponent %.3g\n",
                  p->alpha_c, p->beta_c, p->alpha_r, p->beta_r, p->alpha_n, p->beta_n, p->gamma);
}

// The total of all trials on a GPU is the purpose of sharing.
static void show_sharing(const struct rb_training *t, struct rb_buf *out)
{
    for (int i = 0; i < t->n_sharing; i++) {
        const struct rb_gpu_sharing *c = &t->sharing[i];
        rb_buf_printf(out,
                      "  %d trials on one %s: each takes %.3g times as long, together they do %.3g times the work\n",
                      c->trials, t->accelerator, c->slowdown, c->trials / c->slowdown);
    }
}

static const struct rb_fit_goodput *goodput_fit_of(const struct rb_fit_report *r, const char *accelerator)
{
    for (int i = 0; i < r->n_goodputs; i++)
        if (strcmp(r->goodputs[i].accelerator, accelerator) == 0)
            return &r->goodputs[i];
    return NULL;
}

static void show_steps(const struct rb_throughput *p, const struct rb_fit_goodput *f, struct rb_buf *out)
{
    rb_buf_printf(out,
                  "    a step: gradient %.4g s + %.4g s a sample; synchronisation on one node %.4g s + %.4g s a GPU; "
                  "overlap exponent %.3g",
                  p->alpha_c, p->beta_c, p->alpha_r, p->beta_r, p->gamma);
    if (f) {
        rb_buf_printf(out, " (%d placements and batches, mean error %.1f %%%s)", f->n_placements, 100 * f->step_error,
                      f->several_batches ? ""
                                         : "; one batch size per GPU: fixed and per-sample time split by assumption");
    }
    rb_buf_putc(out, '\n');
}

static void show_goodput(const struct rb_fit_report *r, const struct rb_training *t, struct rb_buf *out)
{
    const struct rb_training_goodput *g = &t->goodput;
    const struct rb_fit_goodput *f = goodput_fit_of(r, t->accelerator);
    rb_buf_printf(out, "  %s: tuned batch, initially %g\n", t->accelerator, g->batch);
    if (g->has_noise) {
        rb_buf_printf(out, "    gradient noise: |g|^2 %.4g, trace of the covariance %.4g, noise scale %.4g samples",
                      g->noise.sqr, g->noise.var, rb_grad_noise_scale(&g->noise, g->batch));
        if (f)
            rb_buf_printf(out, " (%d runs)", f->n_noises);
        rb_buf_putc(out, '\n');
    }
    if (g->has_steps)
        show_steps(&g->steps, f, out);
}

// "lognormal, mean 8.02 s, cv 0.30"; factors have no unit.
static void put_dist(struct rb_buf *out, const struct rb_dist *d, const char *unit)
{
    rb_buf_printf(out, "%s, mean %.4g%s", rb_dist_kind_name(d->kind), rb_dist_mean(d), unit);
    if (d->kind != RB_DIST_CONSTANT)
        rb_buf_printf(out, ", cv %.3g", d->cv);
}

static void show_noise(const struct rb_fit_report *r, struct rb_buf *out)
{
    rb_buf_puts(out, "  between runs   ");
    put_dist(out, &r->profile.between, "");
    if (r->noise.n_runs > 0 && isfinite(r->noise.between_se))
        rb_buf_printf(out, " (standard error %.2g, %d runs)", r->noise.between_se, r->noise.n_runs);
    if (r->profile.configuration) {
        rb_buf_puts(out, "\n  configuration  ");
        put_dist(out, r->profile.configuration, "");
    }
    rb_buf_puts(out, "\n  within a run   ");
    put_dist(out, &r->profile.within, "");
    if (r->noise.n_runs > 0)
        rb_buf_printf(out, " (%d units)", r->noise.n_units);
    rb_buf_putc(out, '\n');
}

static bool has_likelihood(const struct rb_dist_fit *f)
{
    return f->poor || (f->dist.kind != RB_DIST_CONSTANT && f->dist.kind != RB_DIST_EMPIRICAL);
}

static void show_latency(const char *what, const struct rb_dist *d, const struct rb_dist_fit *f, struct rb_buf *out)
{
    rb_buf_printf(out, "  %-13s  ", what);
    put_dist(out, d, " s");
    if (d->relative_error > 0)
        rb_buf_printf(out, ", mean off by %.0f %%", 100 * d->relative_error);
    if (f && f->n > 0) {
        rb_buf_printf(out, " (n %d", f->n);
        if (has_likelihood(f))
            rb_buf_printf(out, ", Kolmogorov-Smirnov %.3f, p %.2g", f->ks, f->ks_p);
        rb_buf_putc(out, ')');
    }
    rb_buf_putc(out, '\n');
}

// The sample from which an entry of the profile was fitted, NULL if it was declared.
static const struct rb_fit_provision *sample_of(const struct rb_fit_report *r, const struct rb_provisioning *v)
{
    for (int i = 0; i < r->n_provisions; i++) {
        const struct rb_fit_provision *p = &r->provisions[i];
        if (p->infra == v->infra && p->instance_type == v->instance_type && p->market == v->market)
            return p; // entries made from samples borrow their names
    }
    return NULL;
}

// Losses an hour from each age on, and how many nodes go at once.
static void show_spells(const struct rb_spells *s, struct rb_buf *out)
{
    char mean[32], low[32], high[32];
    rb_buf_printf(out, "\n  preemptions    %.3g an hour at first", s->hazard.per_hour);
    for (int i = 0; i < s->hazard.n_later; i++)
        rb_buf_printf(out, ", %.3g from %.4g min on", s->hazard.later[i].per_hour, s->hazard.later[i].from_s / 60);
    rb_buf_printf(out, "; %.0f %% of losses take all nodes", 100 * s->together);
    rb_buf_printf(out, "\n  market         up %.4g min, down %.4g min on average, in %.4g days sampled every %.4g s",
                  rb_dist_mean(&s->up_s) / 60, rb_dist_mean(&s->down_s) / 60, s->days, s->sampled_s);
    if (s->price.mean_uusd > 0)
        rb_buf_printf(out, "\n  price          %s an hour on average, %s to %s for 90 %% of the time with nodes",
                      rb_format_money(s->price.mean_uusd, mean), rb_format_money(s->price.p5_uusd, low),
                      rb_format_money(s->price.p95_uusd, high));
}

static void show_provisioning(const struct rb_fit_report *r, struct rb_buf *out)
{
    for (int i = 0; i < r->profile.n_provisioning; i++) {
        const struct rb_provisioning *v = &r->profile.provisioning[i];
        const struct rb_fit_provision *p = sample_of(r, v);
        rb_buf_printf(out, "provisioning %s %s %s (%s)\n", v->infra, v->instance_type, v->market,
                      p ? "measured" : "declared");
        show_latency("queueing", &v->queue_s, p ? &p->queue : NULL, out);
        show_latency("start of node", &v->init_s, p ? &p->init : NULL, out);
        if (p && p->pull.n > 0)
            show_latency("of it, image", &p->pull.dist, &p->pull, out);
        rb_buf_printf(out, "  no capacity    %.3g of requests", v->capacity_failure);
        if (p)
            rb_buf_printf(out, " (%d of %d)", p->n_capacity + p->n_timeout, p->n_capacity + p->n_timeout + p->queue.n);
        if (v->spells) {
            show_spells(v->spells, out);
        } else if (v->has_preemption) {
            rb_buf_printf(out, "\n  preemptions    %.3g an hour", v->preemption_per_hour);
            if (p && p->exposure_h > 0)
                rb_buf_printf(out, " (%d in %.4g h)", p->n_preempted, p->exposure_h);
        }
        rb_buf_putc(out, '\n');
    }
}

static void show_readings(const struct rb_profile *p, struct rb_buf *out)
{
    char size[32];
    for (int i = 0; i < p->n_readings; i++) {
        const struct rb_reading *r = &p->readings[i];
        rb_buf_printf(out, "data %s %s: %s by `%s`, %d node%s\n", r->infra, r->instance_type,
                      rb_format_size_exact(r->bytes, size), r->fetch, r->nodes, r->nodes == 1 ? "" : "s");
        show_latency("fetching", &r->read_s, NULL, out);
    }
}

// Names and sources may come from a file of unknown origin: its escape sequences must not reach a terminal.
static void hide_controls(struct rb_buf *out)
{
    for (size_t i = 0; i < out->len; i++) {
        const unsigned char c = (unsigned char)out->data[i];
        if ((c < 0x20 && c != '\n') || c == 0x7f)
            out->data[i] = '?';
    }
}

static void show_profile(const struct rb_fit_report *r, struct rb_buf *out)
{
    const struct rb_profile *p = &r->profile;
    rb_buf_printf(out, "profile %s (%s), unit of resource: %s\n", p->name, r->imported ? "imported" : "measured",
                  p->unit);
    if (p->source && p->source[0] != '\0')
        rb_buf_printf(out, "source: %s\n", p->source);
    if (p->has_measured) {
        rb_buf_puts(out, "rests on: ");
        rb_measured_text(&p->measured, out);
        rb_buf_putc(out, '\n');
    }
    if (r->n_learned > 0)
        rb_buf_printf(out, "learned from: %d ended run%s, %d start%s of trials\n", r->n_learned_from,
                      plural(r->n_learned_from), r->n_learned, plural(r->n_learned));
    rb_buf_puts(out, "training\n");
    for (int i = 0; i < p->n_training; i++) {
        if (p->training[i].has_throughput)
            show_throughput(r, &p->training[i], out);
        else
            show_layouts(r, &p->training[i], out);
        show_sharing(&p->training[i], out);
        if (p->training[i].has_goodput)
            show_goodput(r, &p->training[i], out);
    }
    rb_buf_puts(out, "noise\n");
    show_noise(r, out);
    rb_buf_puts(out, "overheads of a trial in a stage\n");
    show_latency("start-up", &p->startup_s, r->imported ? NULL : &r->startup, out);
    show_latency("checkpoint", &p->checkpoint_s, r->imported ? NULL : &r->checkpoint, out);
    show_provisioning(r, out);
    show_readings(&r->profile, out);
    for (int i = 0; i < r->n_limits; i++)
        rb_buf_printf(out, "not covered: %s\n", r->limits[i]);
    for (int i = 0; i < r->n_warnings; i++)
        rb_buf_printf(out, "warning: %s\n", r->warnings[i]);
}

static void show_figure(const char *what, const struct rb_record_figure *f, struct rb_buf *out)
{
    if (f->n == 0 && f->n_log == 0)
        return;
    rb_buf_printf(out, "  %-13s ", what);
    if (f->n > 0)
        rb_buf_printf(out, " %d of %d within p5..p95", f->n_within, f->n);
    if (f->n_log > 0)
        rb_buf_printf(out, "%s %+.0f %% from p50 on average", f->n > 0 ? "," : "", 100 * expm1(f->mean_log));
    rb_buf_putc(out, '\n');
}

static void show_promise(const char *what, const struct rb_record_promise *p, struct rb_buf *out)
{
    if (p->n > 0)
        rb_buf_printf(out, "  %-13s  %d of %d, %.2f was promised\n", what, p->n_kept, p->n, p->promised);
}

static void show_record(const struct rb_record *r, struct rb_buf *out)
{
    if (r->n_runs == 0)
        return;
    rb_buf_printf(out, "predictions, of %d run%s that ended", r->n_runs, plural(r->n_runs));
    if (r->n_complete < r->n_runs)
        rb_buf_printf(out, ", %d of them at a limit", r->n_runs - r->n_complete);
    rb_buf_putc(out, '\n');
    show_figure("time", &r->time, out);
    show_figure("cost", &r->cost, out);
    show_promise("on time", &r->on_time, out);
    show_promise("in budget", &r->in_budget, out);
}

void rb_show_fit(const char *name, const struct rb_fit_report *r, const struct rb_record *record, struct rb_buf *out)
{
    if (r)
        show_profile(r, out);
    else
        rb_buf_printf(out, "profile %s: none in the store, plans used a guess or a file\n", name);
    show_record(record, out);
    hide_controls(out);
}


static void put_dist_fit(struct rb_json *j, const char *key, const struct rb_dist_fit *f)
{
    rb_json_key(j, key);
    if (f->n == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{fit:");
    rb_dist_write(&f->dist, j);
    rb_json_kint(j, "n", f->n);
    const struct {
        const char *key;
        double value;
    } goodness[] = {{"log_likelihood", f->log_likelihood}, {"aic", f->aic}, {"ks", f->ks}, {"ks_p", f->ks_p}};
    for (int i = 0; i < 4; i++) {
        rb_json_kdouble_or_null(j, goodness[i].key, has_likelihood(f) ? goodness[i].value : NAN);
    }
    rb_json_put(j, "poor: %i}", f->poor);
}

static void put_cells(struct rb_json *j, const struct rb_fit_report *r)
{
    rb_json_put(j, "cells: [");
    for (int i = 0; i < r->n_cells; i++) {
        const struct rb_fit_cell *c = &r->cells[i];
        rb_json_put(j, "{accelerator: %s|null gpus: %d nodes: %d runs: %d units: %d mean_s: %g se_s: %g}",
                    c->accelerator, c->gpus, c->nodes, c->n_runs, c->n_units, c->mean_s, c->se_s);
    }
    rb_json_end_array(j);
}

static void put_goodputs(struct rb_json *j, const struct rb_fit_report *r)
{
    rb_json_put(j, "goodput: [");
    for (int i = 0; i < r->n_goodputs; i++) {
        const struct rb_fit_goodput *f = &r->goodputs[i];
        rb_json_put(j, "{accelerator: %s|null placements: %d step_error: %g|null several_batches: %i", f->accelerator,
                    f->n_placements, f->n_placements > 0 ? f->step_error : NAN, f->several_batches);
        rb_json_put(j, "noises: %d}", f->n_noises);
    }
    rb_json_end_array(j);
}

static void put_noise(struct rb_json *j, const struct rb_noise_fit *n)
{
    rb_json_key(j, "noise");
    if (n->n_runs == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{between_cv: %g between_se: %g|null configuration_cv: %g|null within_cv: %g runs: %d units: %d}",
                n->between_cv, n->between_se, n->configuration_cv, n->within_cv, n->n_runs, n->n_units);
}

static void put_provisions(struct rb_json *j, const struct rb_fit_report *r)
{
    rb_json_put(j, "provisioning: [");
    for (int i = 0; i < r->n_provisions; i++) {
        const struct rb_fit_provision *p = &r->provisions[i];
        rb_json_put(j, "{infra: %s instance_type: %s market: %s", p->infra, p->instance_type, p->market);
        put_dist_fit(j, "queue_s", &p->queue);
        put_dist_fit(j, "init_s", &p->init);
        if (p->pull.n > 0)
            put_dist_fit(j, "pull_s", &p->pull);
        rb_json_put(j, "ok: %d capacity: %d timeout: %d watched_hours: %g preempted: %d}", p->queue.n,
                    p->n_capacity, p->n_timeout, p->exposure_h, p->n_preempted);
    }
    rb_json_end_array(j);
}

static void put_texts(struct rb_json *j, const char *key, const char *const *texts, int n)
{
    rb_json_put(j, "%s: [", key);
    for (int i = 0; i < n; i++)
        rb_json_string(j, texts[i]);
    rb_json_end_array(j);
}

static void put_dominant(struct rb_json *j, const struct rb_fit_report *r)
{
    rb_json_key(j, "dominant_parameter");
    if (!r->dominant_param) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{name: %s|null share: %g}", r->dominant_param, r->dominant_share);
}

static void put_record_figure(struct rb_json *j, const char *key, const struct rb_record_figure *f)
{
    rb_json_put(j, "%s: {judged: %d within: %d mean_log_error: %g|null}", key, f->n, f->n_within, f->mean_log);
}

static void put_record_promise(struct rb_json *j, const char *key, const struct rb_record_promise *p)
{
    rb_json_put(j, "%s: {judged: %d kept: %d promised: %g|null}", key, p->n, p->n_kept, p->promised);
}

static void put_record(struct rb_json *j, const struct rb_record *r)
{
    rb_json_put(j, "predictions: {runs: %d complete: %d", r->n_runs, r->n_complete);
    put_record_figure(j, "time", &r->time);
    put_record_figure(j, "cost", &r->cost);
    put_record_promise(j, "on_time", &r->on_time);
    put_record_promise(j, "in_budget", &r->in_budget);
    rb_json_end_object(j);
}

void rb_show_fit_json(const char *name, const struct rb_fit_report *fit, const struct rb_record *record,
                      struct rb_buf *out)
{
    static const struct rb_fit_report none = {.throughput_error = -1};
    const struct rb_fit_report *r = fit ? fit : &none;
    struct rb_json j = {.out = out, .pretty = true};
    rb_json_put(&j, "{format: 'rb-fit/1' name: %s imported: %i learned: {runs: %d starts: %d}", name, r->imported,
                r->n_learned_from, r->n_learned);
    put_record(&j, record);
    put_cells(&j, r);
    rb_json_kdouble_or_null(&j, "throughput_error", r->throughput_error >= 0 ? r->throughput_error : NAN);
    put_goodputs(&j, r);
    put_noise(&j, &r->noise);
    put_dist_fit(&j, "startup_s", &r->startup);
    put_dist_fit(&j, "checkpoint_s", &r->checkpoint);
    put_provisions(&j, r);
    put_dominant(&j, r);
    put_texts(&j, "may_not_be_asked", r->limits, r->n_limits);
    put_texts(&j, "warnings", r->warnings, r->n_warnings);
    rb_json_key(&j, "profile");
    if (fit)
        rb_profile_write(&r->profile, &j);
    else
        rb_json_null(&j);
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}

// In whole seconds: for people and programs alike, nothing here happens more often.
static const char *instant_or(int64_t unix_us, const char *unknown, char out[static 32])
{
    return unix_us >= 0 ? rb_format_instant(unix_us - unix_us % RB_US_PER_S, out) : unknown;
}

void rb_show_names(const struct rb_profile_name *names, int n, struct rb_buf *out)
{
    rb_buf_printf(out, "%-28s %-9s %6s %7s %11s  %s\n", "profile", "imported", "runs", "units", "iterations",
                  "changed");
    for (int i = 0; i < n; i++) {
        char when[32];
        rb_buf_printf(out, "%-28s %-9s %6d %7d %11d  %s\n", names[i].name, names[i].imported ? "yes" : "no",
                      names[i].n_runs, names[i].n_units, names[i].n_throughput,
                      instant_or(names[i].changed_at_us, "unknown", when));
    }
    hide_controls(out);
}

static void put_instant(struct rb_json *j, const char *key, int64_t unix_us)
{
    char when[32];
    rb_json_kstring(j, key, instant_or(unix_us, NULL, when));
}

void rb_show_names_json(const struct rb_profile_name *names, int n, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = true};
    rb_json_put(&j, "{format: 'rb-profiles/1' profiles: [");
    for (int i = 0; i < n; i++) {
        rb_json_put(&j, "{name: %s imported: %i runs: %d units: %d iterations: %d", names[i].name, names[i].imported,
                    names[i].n_runs, names[i].n_units, names[i].n_throughput);
        put_instant(&j, "changed_at", names[i].changed_at_us);
        rb_json_end_object(&j);
    }
    rb_json_put(&j, "]}");
    rb_buf_putc(out, '\n');
}

static bool wanted(const char *place, const char *infra)
{
    return !infra || rb_infra_within(place, infra);
}

static void offer_row(const struct rb_offer *o, int64_t now_us, struct rb_text_table *t)
{
    char price[32], age[32];
    const bool known = o->fetched_at_us >= 0 && o->fetched_at_us <= now_us;
    rb_text_table_cell(t, "%s", o->infra);
    rb_text_table_cell(t, "%s", o->instance_type);
    rb_text_table_cell(t, "%s", rb_market_name(o->market));
    rb_text_table_cell(t, "%s", o->accelerator);
    rb_text_table_cell(t, "%d", o->gpus);
    rb_text_table_cell(t, "%s", rb_format_money_exact(o->rate.uusd_per_hour, price));
    rb_text_table_cell(t, "%s", known ? rb_format_duration(now_us - o->fetched_at_us, age) : "unknown");
    rb_text_table_cell(t, "%s", o->source ? o->source : "");
}

static void disk_row(const struct rb_disk_price *disk, struct rb_text_table *t)
{
    char price[32];
    rb_text_table_cell(t, "%s", disk->infra);
    rb_text_table_cell(t, "disk, per GB");
    for (int i = 0; i < 3; i++)
        rb_text_table_cell(t, "%s", "");
    rb_text_table_cell(t, "%s", rb_format_money_exact(disk->per_gb.uusd_per_hour, price));
    rb_text_table_cell(t, "%s", "");
    rb_text_table_cell(t, "%s", "");
}

void rb_show_prices(const struct rb_catalog *c, const char *infra, int64_t now_us, struct rb_buf *out)
{
    static const struct rb_text_column columns[] = {
        {"infra", false, 0}, {"instance type", false, 0}, {"market", false, 0}, {"accelerator", false, 0},
        {"GPUs", true, 0},   {"USD an hour", true, 0},    {"age", false, 0},    {"source", false, 0}};
    struct rb_text_table table;
    rb_text_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < c->n_offers; i++)
        if (wanted(c->offers[i].infra, infra))
            offer_row(&c->offers[i], now_us, &table);
    for (int i = 0; i < c->n_disks; i++)
        if (wanted(c->disks[i].infra, infra))
            disk_row(&c->disks[i], &table);
    rb_text_table_write(&table, &(struct rb_text_style){0}, out);
    rb_text_table_finish(&table);
    hide_controls(out);
}

static void put_offer(struct rb_json *j, const struct rb_offer *o)
{
    rb_json_put(j, "{infra: %s instance_type: %s market: %s accelerator: %s|null gpus: %d gpu_memory_gb: %g", o->infra,
                o->instance_type, rb_market_name(o->market), o->accelerator, o->gpus, o->gpu_memory_gb);
    rb_json_put(j, "vcpus: %g memory_gb: %g uusd_per_hour: %jd source: %s|null", o->vcpus, o->memory_gb,
                o->rate.uusd_per_hour, o->source);
    put_instant(j, "fetched_at", o->fetched_at_us);
    rb_json_end_object(j);
}

void rb_show_prices_json(const struct rb_catalog *c, const char *infra, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = true};
    rb_json_put(&j, "{format: 'rb-prices/1' prices: [");
    for (int i = 0; i < c->n_offers; i++)
        if (wanted(c->offers[i].infra, infra))
            put_offer(&j, &c->offers[i]);
    rb_json_put(&j, "] disks: [");
    for (int i = 0; i < c->n_disks; i++) {
        if (wanted(c->disks[i].infra, infra))
            rb_json_put(&j, "{infra: %s uusd_per_gb_hour: %jd}", c->disks[i].infra, c->disks[i].per_gb.uusd_per_hour);
    }
    rb_json_put(&j, "]}");
    rb_buf_putc(out, '\n');
}
