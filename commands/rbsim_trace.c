// rbsim --trace: the jobs of a trace on one shared cluster, under a policy that divides it.
#include "commands/rbsim.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "simulator/trace_summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct trace_run {
    const struct rb_args *args;
    struct rb_apps apps;
    struct rb_trace trace;
    struct rb_trace_options options;
    struct rb_trace_run run;
    int64_t wall_us;
};

static void finish(struct trace_run *t)
{
    rb_trace_run_finish(&t->run);
    rb_trace_finish(&t->trace);
    rb_apps_finish(&t->apps);
}

// ---- what is asked for

static bool find_policy(struct trace_run *t, struct rb_err *err)
{
    const char *name = rb_args_string(t->args, "policy", "tiresias");
    t->options.policy = rb_sharing_find(name);
    if (t->options.policy)
        return true;
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    for (int i = 0; rb_sharings[i]; i++)
        rb_buf_printf(&known, "%s%s", i == 0 ? "" : rb_sharings[i + 1] ? ", " : " or ", rb_sharings[i]->name);
    return rb_err_set(err, RB_ERR_INVALID, "--policy: expected %s for a trace, got %.40s", rb_buf_str(&known), name);
}

static bool find_rules(struct trace_run *t, struct rb_err *err)
{
    const char *name = rb_args_string(t->args, "rules", "events");
    if (strcmp(name, "events") == 0)
        t->options.rules = RB_TRACE_EVENTS;
    else if (strcmp(name, "osdi21") == 0)
        t->options.rules = RB_TRACE_OSDI21;
    else
        return rb_err_set(err, RB_ERR_INVALID, "--rules: expected events or osdi21, got %.40s", name);
    return true;
}

static bool read_seed(struct trace_run *t, struct rb_err *err)
{
    int64_t seed;
    const char *text = rb_args_string(t->args, "seed", "0");
    if (!rb_parse_int(text, &seed) || seed < 0)
        return rb_err_set(err, RB_ERR_INVALID, "--seed: expected a whole number of at least 0, got %.40s", text);
    t->options.sharing.seed = (uint64_t)seed;
    return true;
}

static bool read_options(struct trace_run *t, struct rb_err *err)
{
    rb_trace_options_defaults(&t->options);
    t->options.n_nodes = (int)rb_args_int(t->args, "nodes", t->options.n_nodes);
    t->options.gpus_per_node = (int)rb_args_int(t->args, "gpus-per-node", t->options.gpus_per_node);
    if (!read_seed(t, err))
        return false;
    if (!rb_args_nth(t->args, "apps", 0))
        return rb_err_set(err, RB_ERR_INVALID, "--trace: expected --apps DIR, the measured applications of the trace");
    if (t->args->n_args > 0)
        return rb_err_set(err, RB_ERR_INVALID, "--trace: expected no job file beside it, got %.80s", t->args->args[0]);
    return find_policy(t, err) && find_rules(t, err);
}

// ---- what came of it

static void write_json(const struct trace_run *t, struct rb_buf *out)
{
    const struct rb_trace_summary s = rb_trace_summarise(&t->run);
    struct rb_json j;
    rb_json_init(&j, out, true);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-sim-trace/1");
    rb_json_kstring(&j, "policy", t->options.policy->name);
    rb_json_kstring(&j, "rules", t->options.rules == RB_TRACE_OSDI21 ? "osdi21" : "events");
    rb_json_key(&j, "jct_s");
    rb_json_begin_object(&j);
    rb_json_kdouble(&j, "mean", s.jct_mean_s);
    rb_json_kdouble(&j, "p50", s.jct_p50_s);
    rb_json_kdouble(&j, "p99", s.jct_p99_s);
    rb_json_end_object(&j);
    rb_json_kdouble(&j, "makespan_s", s.makespan_s);
    rb_json_kdouble(&j, "wait_s", s.wait_mean_s);
    rb_json_kdouble(&j, "gpu_hours", s.gpu_hours);
    rb_json_kdouble(&j, "restarts", s.restarts_mean);
    rb_json_kint(&j, "rounds", t->run.n_rounds);
    rb_json_key(&j, "jobs");
    rb_json_begin_array(&j);
    for (int i = 0; i < t->trace.n; i++) {
        rb_json_begin_object(&j);
        rb_json_kstring(&j, "name", t->trace.jobs[i].name);
        rb_json_kdouble(&j, "jct_s", rb_trace_jct_s(&t->run.jobs[i]));
        rb_json_end_object(&j);
    }
    rb_json_end_array(&j);
    rb_json_kdouble(&j, "wall_s", (double)t->wall_us / (double)RB_US_PER_S);
    rb_json_end_object(&j);
    rb_buf_putc(out, '\n');
}

static bool print(const struct rb_buf *out, struct rb_err *err)
{
    if (fwrite(rb_buf_str(out), 1, out->len, stdout) == out->len && fflush(stdout) == 0)
        return true;
    return rb_err_set(err, RB_ERR_IO, "cannot write to stdout: %s", strerror(errno));
}

bool rb_sim_trace(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(finish) struct trace_run t = {.args = args};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    if (!read_options(&t, err) || !rb_apps_load(&t.apps, rb_args_string(args, "apps", NULL), err) ||
        !rb_trace_read(&t.trace, rb_args_string(args, "trace", NULL), &t.apps, err))
        return false;
    const int64_t started_us = rb_clock_monotonic_us();
    if (!rb_trace_run_init(&t.run, &t.trace, &t.options, err) || !rb_trace_run_all(&t.run, err))
        return false;
    t.wall_us = rb_clock_monotonic_us() - started_us;
    write_json(&t, &out);
    return print(&out, err);
}
