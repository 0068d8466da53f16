#include "views/tables/campaign_table.h"

#include "base/document/json.h"
#include "profiles/job/job_trial.h"

#include <stdio.h>
#include <math.h>

static const char *outcome_name(enum rb_pool_outcome outcome)
{
    static const char *const names[] = {"interrupted", "ok", "capacity", "timeout", "failed"};
    return names[outcome];
}

void rb_measurement_print_runs(const struct rb_measurement *m, struct rb_buf *out)
{
    const struct rb_trial_unit per_run = rb_trial_unit(&m->job.trial);
    rb_buf_printf(out, "%4s  %4s  %12s  %8s  %10s  %10s\n", per_run.many, "runs", m->job.scheduler.unit, "speed-up",
                  "start-up", "checkpoint");
    double one = 0;
    for (int i = 0; i < rb_campaign_n_runs(m->campaign);) {
        const int gpus = rb_campaign_run(m->campaign, i)->gpus, sharers = rb_campaign_run(m->campaign, i)->sharers;
        char width[16], text[3][32];
        int n = 0;
        double unit = 0, startup = 0, checkpoint = 0;
        for (; i < rb_campaign_n_runs(m->campaign) && rb_campaign_run(m->campaign, i)->gpus == gpus &&
               rb_campaign_run(m->campaign, i)->sharers == sharers;
             i++) {
            const struct rb_campaign_run *r = rb_campaign_run(m->campaign, i);
            if (!r->ok || r->probe)
                continue;
            n++;
            unit += r->mean_unit_s;
            startup += r->startup_s;
            checkpoint += r->checkpoint_s > 0 ? r->checkpoint_s : 0;
        }
        if (n == 0)
            continue;
        one = gpus == 1 && sharers == 1 ? unit / n : one;
        snprintf(width, sizeof width, sharers > 1 ? "1/%d" : "%d", sharers > 1 ? sharers : gpus * per_run.each);
        rb_buf_printf(out, "%4s  %4d  %12s  %8.2f  %10s  %10s\n", width, n, rb_format_seconds(unit / n, text[0]),
                      one > 0 ? one * n / unit : 0.0, rb_format_seconds(startup / n, text[1]),
                      rb_format_seconds(checkpoint / n, text[2]));
    }
}

void rb_measurement_print_script(const struct rb_measurement *m, struct rb_buf *out)
{
    const char *unit = m->job.scheduler.unit;
    if (m->job.starts_over) // the job says so
        return;
    if (rb_campaign_resumed(m->campaign) == RB_RESUMED_NO)
        rb_buf_printf(
            out,
            "warning: the script does not resume from a checkpoint: started again, it begins with the first %s. "
            "Plans charge that every stage trains from the beginning. To change it, write a checkpoint to "
            "$RB_CHECKPOINT_DIR and read it from $RB_RESUME_FROM, then measure with --fresh\n",
            unit);
    if (rb_campaign_beyond(m->campaign) > 0)
        rb_buf_printf(
            out,
            "warning: the script trains on after RB_RESOURCE_END: it reported %s %lld when it was to stop at "
            "%lld. rbrun ends such trials at their first report beyond; let the script stop there by itself\n",
            unit, (long long)rb_campaign_beyond(m->campaign), (long long)m->options.resource);
}

void rb_measurement_print_nodes(const struct rb_measurement *m, int n_nodes, struct rb_buf *out)
{
    char queueing[32], initialisation[32];
    rb_buf_printf(out, "%4s  %-11s  %10s  %14s\n", "node", "outcome", "queueing", "initialisation");
    for (int i = 0; i < n_nodes; i++) {
        const struct rb_pool_node *n = rb_campaign_node(m->campaign, i);
        rb_buf_printf(out, "%4d  %-11s", i, outcome_name(n->outcome));
        if (n->outcome == RB_POOL_READY)
            rb_buf_printf(out, "  %10s  %14s", rb_format_duration(n->running_us - n->requested_us, queueing),
                          rb_format_duration(n->prepared_us - n->running_us, initialisation));
        rb_buf_putc(out, '\n');
    }
}

static void write_number(struct rb_json *j, const char *key, bool known, double s)
{
    rb_json_kdouble_or_null(j, key, known ? s : NAN);
}

// Its batch and the means of its steps; null if the job does not tune its batch.
static void write_steps(struct rb_json *j, const struct rb_campaign_run *r)
{
    const struct rb_step_stats *steps = &r->steps;
    rb_json_key(j, "batch");
    if (r->with.batch.per_gpu == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{per_gpu: %d accumulation: %d probe: %i", r->with.batch.per_gpu, r->with.batch.accumulation,
                r->probe);
    write_number(j, "step_s", steps->step_s > 0, steps->step_s);
    write_number(j, "sync_s", steps->has_sync, steps->sync_s);
    write_number(j, "grad_sqr", steps->has_noise, steps->noise.sqr);
    write_number(j, "grad_var", steps->has_noise, steps->noise.var);
    rb_json_end_object(j);
}

static void write_run(struct rb_json *j, const struct rb_campaign_run *r)
{
    rb_json_put(j, "{gpus: %d", r->gpus);
    if (r->sharers > 1)
        rb_json_kint(j, "sharers", r->sharers);
    rb_json_put(j, "config: %d ok: %i", r->config, r->ok);
    rb_json_kstring(j, "error", r->ok ? NULL : r->error);
    write_steps(j, r);
    write_number(j, "startup_s", r->ok, r->startup_s);
    write_number(j, "checkpoint_s", r->ok && r->checkpoint_s >= 0, r->checkpoint_s);
    rb_json_put(j, "unit_s: [");
    for (int k = 0; k < r->n_units; k++)
        rb_json_double(j, r->unit_s[k]);
    rb_json_put(j, "]}");
}

static void write_node(struct rb_json *j, const struct rb_pool_node *n)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "instance", n->instance_id[0] ? n->instance_id : NULL);
    rb_json_put(j, "outcome: %s requested_us: %jd|null running_us: %jd|null ready_us: %jd|null}",
                outcome_name(n->outcome), n->requested_us, n->running_us, n->prepared_us);
}

// null: unknown, or nothing was trained.
static void write_script(const struct rb_measurement *m, struct rb_json *j)
{
    const enum rb_campaign_resumed resumed = rb_campaign_resumed(m->campaign);
    rb_json_key(j, "resumes");
    if (resumed == RB_RESUMED_UNKNOWN)
        rb_json_null(j);
    else
        rb_json_bool(j, resumed == RB_RESUMED_YES);
    rb_json_kint_or_null(j, "trained_beyond",
                         rb_campaign_beyond(m->campaign) > 0 ? rb_campaign_beyond(m->campaign) : -1);
}

void rb_measurement_write(const struct rb_measurement *m, int n_nodes, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = true};
    rb_json_put(&j, "{format: 'rb-campaign/1' infra: %s instance_type: %s runs: [", m->infra, m->offer->instance_type);
    for (int i = 0; i < rb_campaign_n_runs(m->campaign); i++)
        write_run(&j, rb_campaign_run(m->campaign, i));
    rb_json_end_array(&j);
    write_script(m, &j);
    rb_json_put(&j, "nodes: [");
    for (int i = 0; i < n_nodes; i++)
        write_node(&j, rb_campaign_node(m->campaign, i));
    rb_json_put(&j, "]}");
    rb_buf_putc(out, '\n');
}
