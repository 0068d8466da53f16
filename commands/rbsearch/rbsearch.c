// rbsearch: our samplers for a loop that is not ours, over rb-search/1 on stdin and stdout (docs/formats/search.md).
#include "base/limits.h"
#include "base/open_files.h"
#include "base/options.h"
#include "commands/program.h"
#include "engine/core/tuner.h"
#include "executor/search/search_lines.h"
#include "samplers/search.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option options[] = {
    {"job", 0, RB_OPT_STRING, false, "FILE", "job with the parameters, the scheduler and the seed (default: job.yaml)",
     0, 0},
    {"sampler", 0, RB_OPT_STRING, false, "NAME",
     "random, sobol, grid, tpe, gp, bohb or de (default: the job's, or tpe if it names a program or none)", 0, 0},
    {"set", 0, RB_OPT_STRING, true, "KEY=VALUE", "override a key of the job", 0, 0},
    {0},
};

#define OVERRIDES 64

struct server {
    struct rb_arena arena; // the job's
    struct rb_job job;
    struct rb_search *search;
    double *dollars; // by trial, [n_trials]
    int n_trials;
    double spent;
    struct rb_buf in, out;
};

// ---- the job

static bool load(struct server *s, const char *path, const char **overrides, int n, const char *sampler,
                 struct rb_err *err)
{
    if (sampler)
        overrides[n++] = rb_arena_printf(&s->arena, "scheduler.sampler=%s", sampler);
    return rb_job_load(path, overrides, n, &s->arena, &s->job, err);
}

// A job that names a program names us, perhaps.
static bool open_search(struct server *s, const struct rb_args *args, struct rb_err *err)
{
    const char *path = rb_args_string(args, "job", "job.yaml"), *sampler = rb_args_string(args, "sampler", NULL), *set;
    const char *overrides[OVERRIDES + 1];
    int n = 0;
    while ((set = rb_args_nth(args, "set", n))) {
        if (n == OVERRIDES)
            return rb_err_set(err, RB_E_OPTION_REPEATED, "--set: expected at most %d", OVERRIDES);
        overrides[n++] = set;
    }
    if (!load(s, path, overrides, n, sampler, err))
        return false;
    const struct rb_sampler_spec *spec = &s->job.scheduler.sampler;
    if (!sampler && (!spec->type || spec->command) && !load(s, path, overrides, n, "tpe", err))
        return false;
    if (strcmp(s->job.scheduler.type, "pbt") == 0)
        return rb_err_set_at(err, RB_E_SCHEDULER_KEYS, (struct rb_place){0}, "scheduler.type",
                             "pbt copies trials, and rb-search/1 has no word for that; choose another type");
    return rb_search_create(&s->job, &s->search, err);
}

// ---- lines

// What the search has cost is the sum of what its trials have cost.
static void count_dollars(struct server *s, int trial, double dollars)
{
    if (!(dollars >= 0))
        return;
    if (trial >= s->n_trials) {
        const int n = 2 * trial + 16;
        s->dollars = rb_xrealloc(s->dollars, (size_t)n, sizeof *s->dollars);
        while (s->n_trials < n)
            s->dollars[s->n_trials++] = 0;
    }
    s->spent += dollars - s->dollars[trial];
    s->dollars[trial] = dollars;
}

static void on_ask(struct server *s, const struct rb_search_line *line)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_suggestion suggestion;
    const struct rb_ask ask = {
        .trial = line->trial,
        .parent = -1,
        .resource = line->resource > 0 ? line->resource : s->job.scheduler.min_resource,
        .budget = s->job.budget_uusd > 0 ? (double)s->job.budget_uusd / 1e6 : 0,
        .spent = s->spent,
    };
    rb_search_suggest(s->search, &ask, &arena, &suggestion);
    rb_search_put_suggestion(line->id, &s->job.space, suggestion.values, suggestion.reason, &s->out);
    rb_search_began(s->search, line->trial, suggestion.values, ask.resource);
}

static bool on_replay(struct server *s, const struct rb_search_line *line, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_value *values = rb_arena_array(&arena, (size_t)s->job.space.n_params + 1, sizeof *values);
    if (!rb_space_read_values(&s->job.space, line->values, &arena, values, err))
        return false;
    rb_search_began(s->search, line->trial, values,
                    line->resource > 0 ? line->resource : s->job.scheduler.min_resource);
    return true;
}

static void on_tell(struct server *s, const struct rb_search_line *line)
{
    static const enum rb_seen_state seen[] = {
        [RB_SEARCH_RUNS] = RB_SEEN_TRAINS,   [RB_SEARCH_PAUSED] = RB_SEEN_PAUSED, [RB_SEARCH_ENDED] = RB_SEEN_ENDED,
        [RB_SEARCH_FAILED] = RB_SEEN_FAILED, [RB_SEARCH_STOPPED] = RB_SEEN_ENDED,
    };
    const struct rb_history *h = rb_search_history(s->search);
    const int place = rb_history_place_of(h, line->trial);
    if (place < 0)
        return;
    count_dollars(s, line->trial, line->dollars);
    if (line->resource > h->trials[place].resource)
        rb_search_reported(s->search, line->trial, line->resource, rb_score(s->job.goal, line->metric),
                           line->seconds > 0 ? line->seconds / (double)line->resource : NAN);
    if (line->state != RB_SEARCH_RUNS || line->next > 0)
        rb_search_changed(s->search, line->trial, seen[line->state], line->next);
}

static bool take_line(struct server *s, const char *bytes, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_search_line line;
    char name[64];
    if (!rb_search_read(bytes, n, &doc, &line, err))
        return false;
    switch (line.kind) {
    case RB_SEARCH_HELLO:
        snprintf(name, sizeof name, "rbsearch %s", s->job.scheduler.sampler.type);
        rb_search_put_ready(name, &s->out);
        return true;
    case RB_SEARCH_ASK:
        on_ask(s, &line);
        return true;
    case RB_SEARCH_REPLAY:
        return on_replay(s, &line, err);
    case RB_SEARCH_TELL:
        on_tell(s, &line);
        return true;
    case RB_SEARCH_READY:
    case RB_SEARCH_SUGGEST:
    case RB_SEARCH_NONE:
    case RB_SEARCH_ERROR: // the question comes again
    case RB_SEARCH_OTHER:
        break;
    }
    return true;
}

// ---- the loop

static bool write_out(struct server *s, struct rb_err *err)
{
    while (s->out.len > 0) {
        const ssize_t n = write(STDOUT_FILENO, s->out.data, s->out.len);
        if (n < 0 && errno != EINTR)
            return rb_err_set(err, RB_E_STDOUT, "cannot write: %s", strerror(errno));
        if (n > 0)
            rb_buf_consume(&s->out, (size_t)n);
    }
    return true;
}

static bool take_lines(struct server *s, struct rb_err *err)
{
    char *newline;
    size_t done = 0;
    bool ok = true;
    while (ok && (newline = memchr(s->in.data + done, '\n', s->in.len - done))) {
        const size_t n = (size_t)(newline - (s->in.data + done));
        *newline = '\0';
        ok = take_line(s, s->in.data + done, n, err);
        done += n + 1;
    }
    rb_buf_consume(&s->in, done);
    return ok && (s->in.len <= RB_LIMIT_SEARCH_LINE ||
                  rb_err_set(err, RB_E_SEARCH_LINE, "expected a line of at most %d bytes", RB_LIMIT_SEARCH_LINE));
}

static bool serve(struct server *s, struct rb_err *err)
{
    char chunk[16384];
    for (;;) {
        const ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n == 0 || (n < 0 && errno != EINTR))
            return true;
        if (n < 0)
            continue;
        rb_buf_append(&s->in, chunk, (size_t)n);
        const bool ok = take_lines(s, err);
        if (!ok)
            rb_search_put_error(-1, err->message, &s->out);
        if (!write_out(s, ok ? err : &(struct rb_err){0}) || !ok)
            return false;
    }
}

static void finish(struct server *s)
{
    rb_search_destroy(s->search);
    rb_buf_finish(&s->in);
    rb_buf_finish(&s->out);
    rb_arena_finish(&s->arena);
    free(s->dollars);
}

static bool run(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(finish) struct server s = {0};
    return open_search(&s, args, err) && serve(&s, err);
}

static const struct rb_command command = {
    .name = "rbsearch",
    .usage = "[options]",
    .summary = "Proposes configurations to a loop of your own: asks and results come as lines of JSON on stdin,\n"
               "suggestions go to stdout (rb-search/1).",
    .examples = "  rbsearch --job job.yaml\n"
                "  rbsearch --job job.yaml --sampler gp\n",
    .options = options,
    .run = run,
};

int main(int argc, char **argv)
{
    static const struct rb_program program = {
        .command = &command,
        .open_files = RB_OPEN_FILES_TO_COMPUTE,
    };
    return rb_program_run(&program, argc, argv);
}
