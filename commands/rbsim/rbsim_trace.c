// rbsim --trace: simulates the jobs of a trace on one shared cluster, under a policy that divides it.
#include "commands/rbsim/rbsim_trace.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text/number.h"
#include "commands/rbsim/rbsim.h"
#include "engine/sharing/autoscales.h"
#include "views/simulations/trace_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROVISION_US (120 * RB_US_PER_S)

static void finish(struct rb_sim_trace *t)
{
    rb_trace_gantt_destroy(t->drawing);
    rb_trace_run_finish(&t->run);
    rb_trace_finish(&t->trace);
    free(t->rates);
    rb_apps_finish(&t->apps);
}

// ---- the request

static bool find_policy(struct rb_sim_trace *t, struct rb_err *err)
{
    const char *name = rb_args_string(t->args, "policy", rb_sharing_find("goodput") ? "goodput" : "pollux");
    t->options.policy = rb_sharing_find(name);
    if (t->options.policy)
        return true;
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    for (int i = 0; rb_sharings[i]; i++)
        rb_buf_printf(&known, "%s%s", i == 0 ? "" : rb_sharings[i + 1] ? ", " : " or ", rb_sharings[i]->name);
    return rb_err_set(err, RB_E_OPTION_VALUE, "--policy: expected %s for a trace, got %.40s", rb_buf_str(&known), name);
}

static bool find_rules(struct rb_sim_trace *t, struct rb_err *err)
{
    const char *name = rb_args_string(t->args, "rules", "events");
    t->options.rules = strcmp(name, "osdi21") == 0 ? RB_TRACE_OSDI21 : RB_TRACE_EVENTS;
    return t->options.rules == RB_TRACE_OSDI21 || strcmp(name, "events") == 0 ||
           rb_err_set(err, RB_E_OPTION_VALUE, "--rules: expected events or osdi21, got %.40s", name);
}

// A node is billed while it boots: for the whole delay.
static bool read_delay(struct rb_sim_trace *t, struct rb_err *err)
{
    struct rb_trace_provisioning *p = &t->options.provisioning;
    const double mean_s = (double)rb_args_duration_us(t->args, "provision", PROVISION_US) / (double)RB_US_PER_S;
    p->queue_s = rb_dist_constant(0);
    p->init_s =
        (struct rb_dist){.kind = RB_DIST_LOGNORMAL, .mean = mean_s, .cv = rb_args_double(t->args, "provision-cv", 0)};
    if (!rb_parse_double(rb_args_string(t->args, "confidence", "0.95"), &t->options.confidence) ||
        !(t->options.confidence > 0 && t->options.confidence < 1))
        return rb_err_set(err, RB_E_OPTION_VALUE, "--confidence: expected a number between 0 and 1");
    return rb_dist_prepare(&p->init_s, err) || rb_err_prefix(err, "--provision, --provision-cv");
}

static bool find_autoscale(struct rb_sim_trace *t, struct rb_err *err)
{
    const char *name = rb_args_string(t->args, "autoscale", NULL);
    const bool asked = rb_args_nth(t->args, "min-nodes", 0) || rb_args_nth(t->args, "provision", 0) ||
                       rb_args_nth(t->args, "least-worth", 0) || rb_args_nth(t->args, "provision-cv", 0) ||
                       rb_args_nth(t->args, "confidence", 0);
    if (!name && asked)
        return rb_err_set(err, RB_E_OPTION_ALONE,
                          "--min-nodes, --least-worth, --provision, --provision-cv, --confidence: expected --autoscale "
                          "RULE beside them");
    if (!name)
        return true;
    t->options.autoscale = rb_autoscale_find(name);
    t->options.min_nodes = (int)rb_args_int(t->args, "min-nodes", 1);
    if (!read_delay(t, err))
        return false;
    if (t->options.min_nodes > t->options.n_nodes)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--min-nodes: expected at most --nodes %d, got %d",
                          t->options.n_nodes, t->options.min_nodes);
    if (t->options.autoscale) {
        t->options.least_worth = rb_args_double(t->args, "least-worth", t->options.autoscale->least_worth);
        return true;
    }
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    for (int i = 0; rb_autoscales[i]; i++)
        rb_buf_printf(&known, "%s%s", i == 0 ? "" : rb_autoscales[i + 1] ? ", " : " or ", rb_autoscales[i]->name);
    return rb_err_set(err, RB_E_OPTION_VALUE, "--autoscale: expected %s, got %.40s", rb_buf_str(&known), name);
}

static bool read_seed(struct rb_sim_trace *t, struct rb_err *err)
{
    int64_t seed;
    const char *text = rb_args_string(t->args, "seed", "0");
    if (!rb_parse_int(text, &seed) || seed < 0)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--seed: expected a whole number of at least 0, got %.40s", text);
    t->options.sharing.seed = t->options.provisioning.seed = (uint64_t)seed;
    return true;
}

// Options of a tuning job have no effect here; without an error it would seem that they had.
static bool refuse_options_of_jobs(const struct rb_sim_trace *t, struct rb_err *err)
{
    static const char *const of_jobs[] = {
        "plan",     "gpus-per-trial",   "tuner",        "compare", "replicates", "curves",
        "deadline", "stop-at-deadline", "blackbox", "market", "cold", "events", "regret", "profile-file", "guess", "set",     "budget"};
    for (int g = 0; g < t->args->n_given; g++) {
        const char *name = t->args->given[g].option->name;
        for (size_t i = 0; i < sizeof of_jobs / sizeof of_jobs[0]; i++) {
            if (strcmp(name, of_jobs[i]) == 0)
                return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--trace: --%s is for a tuning job; leave it out", name);
        }
    }
    if (t->args->n_args > 0)
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--trace: expected no job file beside it, got %.80s",
                          t->args->args[0]);
    return rb_args_nth(t->args, "apps", 0) ||
           rb_err_set(err, RB_E_OPTION_ALONE, "--trace: expected --apps DIR, the measured applications of the trace");
}

static bool read_options(struct rb_sim_trace *t, struct rb_err *err)
{
    struct rb_trace_options *o = &t->options;
    rb_trace_options_defaults(o);
    o->gpus_per_node = (int)rb_args_int(t->args, "gpus-per-node", o->gpus_per_node);
    o->at_once = (int)rb_args_int(t->args, "at-once", 0);
    o->interference = rb_args_double(t->args, "interference", 0);
    o->sharing.fairness_p = rb_args_double(t->args, "fairness-p", o->sharing.fairness_p);
    o->sharing.restart_us = rb_args_duration_us(t->args, "restart", o->sharing.restart_us);
    o->sharing.round_us = rb_args_duration_us(t->args, "round", o->sharing.round_us);
    o->sharing.avoid_interference = !rb_args_flag(t->args, "allow-interference");
    if (o->sharing.round_us < RB_US_PER_S || o->sharing.round_us % RB_US_PER_S != 0)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--round: expected whole seconds, at least 1s");
    return refuse_options_of_jobs(t, err) && rb_sim_trace_read_nodes(t, err) && find_policy(t, err) &&
           find_rules(t, err) && read_seed(t, err) && find_autoscale(t, err);
}

// ---- the run

static bool run(struct rb_sim_trace *t, struct rb_err *err)
{
    const int64_t started_us = rb_clock_monotonic_us();
    if (!rb_trace_run_init(&t->run, &t->trace, &t->options, err) || !rb_trace_run_all(&t->run, err))
        return false;
    t->wall_us = rb_clock_monotonic_us() - started_us;
    return true;
}

bool rb_sim_trace(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(finish) struct rb_sim_trace t = {.args = args};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const struct rb_text_style style = rb_text_style_of(STDOUT_FILENO);
    const char *gantt = rb_args_string(args, "gantt", NULL);
    if (!read_options(&t, err) || !rb_apps_load(&t.apps, rb_args_string(args, "apps", NULL), err) ||
        !rb_trace_read(&t.trace, rb_args_string(args, "trace", NULL), &t.apps, err))
        return false;
    if ((gantt && !rb_trace_gantt_create(gantt, &t.run, &t.trace, &t.options, &t.drawing, err)) || !run(&t, err) ||
        (gantt && !rb_trace_gantt_save(t.drawing, gantt, err)))
        return false;
    if (rb_args_flag(args, "json"))
        rb_trace_json_write(&t.run, t.wall_us, &out);
    else
        rb_trace_table_write(&t.run, &style, &out);
    return rb_print(&out, err);
}
