// Questions are open asks. What the program should know is the log: a replay for each trial that began, and every tell,
// in their order. A program that is started again gets hello, the log, and the open asks under their old ids.
#include "executor/search/search_program.h"

#include "base/document/doc.h"
#include "base/limits.h"
#include "base/silence.h"
#include "executor/search/search_child.h"
#include "executor/search/search_lines.h"
#include "profiles/job/job_notify.h"
#include "samplers/facts.h"
#include "samplers/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READY_US = 60000000, // from its start to "ready": imports take a while
    PAUSE_US = 200000,   // between a failure and the next start
    SLOW_US = 1000000,   // an answer that took this long makes idle GPUs expensive: ask ahead from now on
    END_US = 2000000,    // that it may take to end by itself
};

struct ask {
    struct ask *next;
    struct rb_search_program *program;
    int64_t id, resource;
    int64_t asked_us; // attended time
    int trial;
    bool is_wanted;   // the engine waits for it; false: asked ahead
    bool is_answered; // kept until the engine wants it
    struct rb_silence silence;
    struct rb_arena arena;         // of the answer
    const struct rb_value *values; // of the answer; NULL: no further configuration
    const char *reason;
};

enum phase { ABSENT, PAUSED, GREETED, READY, GAVE_UP };

struct rb_search_program {
    struct rb_search_program_config config;
    const struct rb_job *job;
    const struct rb_engine *engine; // of the last question
    struct rb_suggester suggester;
    struct rb_facts *facts;
    char *workdir, *log_path;
    enum phase phase;
    struct rb_search_child *child;
    uint64_t timer; // of the next start
    struct rb_silence greeting;
    int n_starts, n_failures;
    char why[256]; // of the last failure
    struct rb_buf log;
    struct ask *asks; // in the order of their ids
    int64_t last_id;
    bool is_slow;
    struct proposed {
        int start; // of the program that proposed the values, 0: none
        const struct rb_value *values;
    } *proposed;   // by trial, [n_trials]
    int n_trials;
    struct rb_arena proposals;
};

static void fail(struct rb_search_program *p, const char *why);
static void ask_ahead(struct rb_search_program *p);

// ---- asks

static struct ask **place_of_trial(struct rb_search_program *p, int trial)
{
    struct ask **at = &p->asks;
    while (*at && (*at)->trial != trial)
        at = &(*at)->next;
    return at;
}

static struct ask *find_open(struct rb_search_program *p, int64_t id)
{
    for (struct ask *a = p->asks; a; a = a->next)
        if (a->id == id)
            return a->is_answered ? NULL : a;
    return NULL;
}

// Takes it out of the list; the caller frees it.
static struct ask *take_ask(struct rb_search_program *p, int trial)
{
    struct ask **at = place_of_trial(p, trial), *a = *at;
    if (a)
        *at = a->next;
    return a;
}

static void free_ask(struct ask *a)
{
    rb_silence_end(&a->silence);
    rb_arena_finish(&a->arena);
    free(a);
}

static void on_silence(void *arg)
{
    struct ask *a = arg;
    char why[96];
    snprintf(why, sizeof why, "no answer about trial %d within %.3g s", a->trial,
             (double)a->program->job->scheduler.sampler.timeout_us / 1e6);
    fail(a->program, why);
}

static void send(struct rb_search_program *p, struct rb_buf *line)
{
    rb_search_child_write(p->child, rb_buf_str(line), line->len);
}

static void send_ask(struct rb_search_program *p, struct ask *a)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    rb_search_put_ask(a->id, a->trial, a->resource, &line);
    send(p, &line);
    a->asked_us = rb_attended_us(p->config.loop);
    rb_silence_begin(&a->silence, p->config.loop, p->job->scheduler.sampler.timeout_us, on_silence, a);
}

static struct ask *add_ask(struct rb_search_program *p, int trial, int64_t resource, bool is_wanted)
{
    struct ask **end = &p->asks, *a = rb_xcalloc(1, sizeof *a);
    while (*end)
        end = &(*end)->next;
    *a = (struct ask){.program = p, .id = ++p->last_id, .trial = trial, .resource = resource, .is_wanted = is_wanted};
    *end = a;
    if (p->phase == READY)
        send_ask(p, a);
    return a;
}

// ---- answers for the engine

static void remember(struct rb_search_program *p, const struct ask *a)
{
    if (a->trial >= p->n_trials) {
        const int n = 2 * a->trial + 16;
        p->proposed = rb_xrealloc(p->proposed, (size_t)n, sizeof *p->proposed);
        memset(p->proposed + p->n_trials, 0, (size_t)(n - p->n_trials) * sizeof *p->proposed);
        p->n_trials = n;
    }
    p->proposed[a->trial] = (struct proposed){p->n_starts, rb_values_copy(&p->job->space, a->values, &p->proposals)};
}

static void fill_event(const struct rb_search_program *p, const struct ask *a, struct rb_arena *arena,
                       struct rb_event *out)
{
    if (a->values)
        rb_suggested_event(&p->job->space, a->trial, rb_values_copy(&p->job->space, a->values, arena), "command",
                           rb_arena_strdup(arena, a->reason), arena, out);
    else
        *out = (struct rb_event){.kind = RB_EVENT_SUGGESTED, .trial = a->trial, .origin = "command"};
}

static void fill_random(const struct rb_search_program *p, int trial, struct rb_arena *arena, struct rb_event *out)
{
    struct rb_value *values = rb_arena_array(arena, (size_t)p->job->space.n_params + 1, sizeof *values);
    rb_space_sample(&p->job->space, p->job->seed, (uint32_t)trial, values);
    rb_suggested_event(&p->job->space, trial, values, "random",
                       rb_arena_printf(arena, "the program failed: %s", p->why), arena, out);
}

// The engine's answer may bring the next question.
static void give(struct rb_search_program *p, struct ask *a)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_event event;
    if (p->phase == GAVE_UP)
        fill_random(p, a->trial, &arena, &event);
    else
        fill_event(p, a, &arena, &event);
    free_ask(a);
    p->config.answered(p->config.ctx, &event);
}

// ---- failures

static void drop_child(struct rb_search_program *p, int64_t patience_us)
{
    rb_silence_end(&p->greeting);
    for (struct ask *a = p->asks; a; a = a->next)
        rb_silence_end(&a->silence);
    rb_search_child_destroy(p->child, patience_us);
    p->child = NULL;
}

static void note(struct rb_search_program *p, const char *then)
{
    char text[640];
    snprintf(text, sizeof text, "scheduler.sampler: `%.120s` failed: %s; %s%s%.160s", p->job->scheduler.sampler.command,
             p->why, then, p->log_path ? "; what it printed: " : "", p->log_path ? p->log_path : "");
    p->config.note(p->config.ctx, text);
}

static void give_up(struct rb_search_program *p)
{
    struct rb_err err;
    drop_child(p, 0);
    p->phase = GAVE_UP;
    if (p->job->scheduler.sampler.stop_on_failure) {
        rb_err_set(
            &err, RB_E_SEARCH_PROGRAM,
            "scheduler.sampler: `%.120s` failed %d times, the last time: %s; correct it, then resume the run%s%.160s",
            p->job->scheduler.sampler.command, p->n_failures, p->why, p->log_path ? "; what it printed: " : "",
            p->log_path ? p->log_path : "");
        p->config.failed(p->config.ctx, &err);
        return;
    }
    note(p, "configurations are drawn at random from now on");
    for (struct ask *a; (a = p->asks);) {
        take_ask(p, a->trial);
        if (a->is_wanted)
            give(p, a);
        else
            free_ask(a);
    }
}

// One failure more. False: that was one too many.
static bool is_forgiven(struct rb_search_program *p, const char *why)
{
    snprintf(p->why, sizeof p->why, "%s", why);
    if (++p->n_failures <= RB_SEARCH_RESTARTS)
        return true;
    give_up(p);
    return false;
}

static void start(void *arg);

static void start_after(struct rb_search_program *p, int64_t delay_us)
{
    p->phase = PAUSED;
    p->timer = p->config.loop->timer_start(p->config.loop->ctx, delay_us, start, p);
}

// Without a question it is started again at the next one.
static void fail(struct rb_search_program *p, const char *why)
{
    char then[64];
    drop_child(p, 0);
    p->phase = ABSENT;
    if (!is_forgiven(p, why))
        return;
    snprintf(then, sizeof then, "it is started again (%d of %d)", p->n_failures, RB_SEARCH_RESTARTS);
    note(p, then);
    if (p->asks)
        start_after(p, PAUSE_US);
}

// ---- what it says

static void take_answer(struct rb_search_program *p, struct ask *a)
{
    a->is_answered = true;
    rb_silence_end(&a->silence);
    p->is_slow = rb_attended_us(p->config.loop) - a->asked_us >= SLOW_US;
    remember(p, a);
    if (!a->is_wanted)
        return;
    give(p, take_ask(p, a->trial));
    ask_ahead(p);
}

// It may answer again: the question follows the error.
static void refuse(struct rb_search_program *p, struct ask *a, const struct rb_err *why)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    char text[256];
    rb_search_put_error(a->id, why->message, &line);
    send(p, &line);
    snprintf(text, sizeof text, "the values of trial %d: %.60s%s%.120s", a->trial, why->key, why->key[0] ? ": " : "",
             why->message);
    const int64_t id = a->id;
    if (is_forgiven(p, text)) {
        note(p, "it is asked again");
        a = find_open(p, id);
        if (a && p->phase == READY)
            send_ask(p, a);
    }
}

static void on_suggestion(struct rb_search_program *p, const struct rb_search_line *line)
{
    struct ask *a = find_open(p, line->id);
    struct rb_err err;
    if (!a) // late, or answered before
        return;
    struct rb_value *values = rb_arena_array(&a->arena, (size_t)p->job->space.n_params + 1, sizeof *values);
    if (!rb_space_read_values(&p->job->space, line->values, &a->arena, values, &err)) {
        refuse(p, a, &err);
        return;
    }
    a->values = values;
    a->reason = rb_arena_strndup(&a->arena, line->text, strnlen(line->text, 400));
    take_answer(p, a);
}

static void on_ready(struct rb_search_program *p)
{
    if (p->phase != GREETED)
        return;
    p->phase = READY;
    rb_silence_end(&p->greeting);
    send(p, &p->log);
    for (struct ask *a = p->asks; a; a = a->next)
        if (!a->is_answered)
            send_ask(p, a);
}

static void on_line(void *ctx, const char *bytes, size_t n)
{
    struct rb_search_program *p = ctx;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_search_line line;
    struct rb_err err;
    char why[256];
    if (!rb_search_read(bytes, n, &doc, &line, &err)) {
        snprintf(why, sizeof why, "it wrote a line that is none of rb-search/1: %.160s", err.message);
        fail(p, why);
        return;
    }
    struct ask *a = find_open(p, line.id);
    if (line.kind == RB_SEARCH_READY) {
        on_ready(p);
    } else if (line.kind == RB_SEARCH_SUGGEST && p->phase == READY) {
        on_suggestion(p, &line);
    } else if (line.kind == RB_SEARCH_NONE && p->phase == READY && a) {
        take_answer(p, a);
    } else if (line.kind == RB_SEARCH_ERROR) {
        snprintf(why, sizeof why, "it reported an error: %.160s", line.text);
        fail(p, why);
    }
}

static void on_ended(void *ctx, const char *why)
{
    fail(ctx, why);
}

// ---- its start

static void on_no_greeting(void *arg)
{
    fail(arg, "it was not ready within 60 s");
}

static void start(void *arg)
{
    struct rb_search_program *p = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf hello = RB_BUF_INIT;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_err err;
    const struct rb_string_list hidden = rb_job_hidden_variables(p->job, &arena);
    const struct rb_search_child_config config = {
        .loop = p->config.loop,
        .command = p->job->scheduler.sampler.command,
        .workdir = p->workdir,
        .log = p->log_path,
        .hidden = hidden.items,
        .n_hidden = hidden.n,
        .longest_line = RB_LIMIT_SEARCH_LINE,
        .line = on_line,
        .ended = on_ended,
        .ctx = p,
    };
    p->timer = 0;
    p->n_starts++;
    if (!rb_search_child_start(&config, &p->child, &err)) {
        fail(p, err.message);
        return;
    }
    p->phase = GREETED;
    rb_silence_begin(&p->greeting, p->config.loop, READY_US, on_no_greeting, p);
    rb_search_put_hello(p->job, &hello);
    send(p, &hello);
}

// ---- what it should know

// Of this trial, which began with these values: a table gives those of its nearest row instead.
static bool knows(const struct rb_search_program *p, const struct rb_fact *began)
{
    const struct proposed *mine = began->trial < p->n_trials ? &p->proposed[began->trial] : NULL;
    return mine && mine->start == p->n_starts && mine->values &&
           rb_values_same(&p->job->space, mine->values, began->values);
}

static void take_fact(void *ctx, const struct rb_fact *fact)
{
    struct rb_search_program *p = ctx;
    const size_t from = p->log.len;
    const bool began = fact->kind == RB_FACT_BEGAN;
    if (began)
        rb_search_put_replay(&p->job->space, fact, &p->log);
    else
        rb_search_put_tell(fact, p->job->scheduler.max_resource, &p->log);
    if (p->phase == READY && !(began && knows(p, fact)))
        rb_search_child_write(p->child, p->log.data + from, p->log.len - from);
}

static void saw(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    struct rb_search_program *p = ctx;
    p->engine = e;
    rb_facts_take(p->facts, e, event, actions, take_fact, p);
}

// ---- questions

// The first trial in the queue is the next one to start. More than one ahead would be proposed without the results that
// come in until it starts.
static void ask_ahead(struct rb_search_program *p)
{
    int n;
    if (!p->config.ahead || !p->is_slow || p->phase != READY)
        return;
    for (const struct ask *a = p->asks; a; a = a->next)
        if (!a->is_wanted)
            return;
    const int *waiting = rb_engine_waiting(p->engine, &n);
    if (n > 0 && !rb_engine_trial(p->engine, waiting[0])->values && !*place_of_trial(p, waiting[0]))
        add_ask(p, waiting[0], rb_engine_trial(p->engine, waiting[0])->resource_end, false);
}

static bool suggest(void *ctx, const struct rb_engine *e, int trial, int64_t resource, struct rb_arena *arena,
                    struct rb_event *out)
{
    struct rb_search_program *p = ctx;
    struct ask *a = *place_of_trial(p, trial);
    p->engine = e;
    if (p->phase == GAVE_UP) {
        if (!p->job->scheduler.sampler.stop_on_failure)
            fill_random(p, trial, arena, out);
        return !p->job->scheduler.sampler.stop_on_failure;
    }
    if (a && a->is_answered) {
        fill_event(p, take_ask(p, trial), arena, out);
        free_ask(a);
        ask_ahead(p);
        return true;
    }
    if (a)
        a->is_wanted = true;
    else
        add_ask(p, trial, resource, true);
    if (p->phase == ABSENT)
        start_after(p, 0);
    return false;
}

struct rb_search_program *rb_search_program_create(const struct rb_search_program_config *config)
{
    struct rb_search_program *p = rb_xcalloc(1, sizeof *p);
    p->config = *config;
    p->job = config->plan->job;
    p->facts = rb_facts_create(config->plan);
    rb_arena_init(&p->proposals);
    p->workdir = rb_xstrdup(config->workdir);
    p->log_path = config->log ? rb_xstrdup(config->log) : NULL;
    p->suggester = (struct rb_suggester){.ctx = p, .saw = saw, .suggest = suggest};
    return p;
}

void rb_search_program_destroy(struct rb_search_program *p)
{
    if (!p)
        return;
    drop_child(p, END_US);
    if (p->timer)
        p->config.loop->timer_cancel(p->config.loop->ctx, p->timer);
    for (struct ask *a; (a = p->asks);)
        free_ask(take_ask(p, a->trial));
    rb_facts_destroy(p->facts);
    rb_buf_finish(&p->log);
    free(p->proposed);
    rb_arena_finish(&p->proposals);
    free(p->workdir);
    free(p->log_path);
    free(p);
}

const struct rb_suggester *rb_search_program_suggester(const struct rb_search_program *p)
{
    return &p->suggester;
}
