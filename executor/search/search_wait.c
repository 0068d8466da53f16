#include "executor/search/search_wait.h"

#include "base/errors/log.h"
#include "executor/search/search_program.h"
#include "executor/transport/loop_uv.h"

#include <stdlib.h>
#include <string.h>

struct rb_search_wait {
    struct rb_loop_uv *uv;
    struct rb_search_program *program;
    struct rb_suggester suggester;
    struct rb_err failure; // code NONE: none
    struct {               // under way
        const struct rb_engine *engine;
        int trial;
        int64_t resource;
        struct rb_arena *arena;
        struct rb_event *out;
    } question;
};

static void on_note(void *ctx, const char *text)
{
    (void)ctx;
    rb_warn("%s", text);
}

static void on_failed(void *ctx, const struct rb_err *err)
{
    struct rb_search_wait *w = ctx;
    w->failure = *err;
    rb_loop_uv_stop(w->uv);
}

// The event's texts and values live only as long as this call.
static void on_answered(void *ctx, const struct rb_event *event)
{
    struct rb_search_wait *w = ctx;
    struct rb_arena *arena = w->question.arena;
    struct rb_named_value *values = rb_arena_array(arena, (size_t)event->n_values + 1, sizeof *values);
    for (int i = 0; i < event->n_values; i++) {
        values[i] = event->values[i];
        if (values[i].value.kind == RB_VALUE_STRING)
            values[i].value.string = rb_arena_strdup(arena, values[i].value.string);
    }
    *w->question.out = *event;
    w->question.out->values = values;
    w->question.out->origin = event->origin ? rb_arena_strdup(arena, event->origin) : NULL;
    w->question.out->because = event->because ? rb_arena_strdup(arena, event->because) : NULL;
    rb_loop_uv_stop(w->uv);
}

// Asked from the loop, which has not run since the last question: its clock of silences has to be right first.
static void ask(void *arg)
{
    struct rb_search_wait *w = arg;
    const struct rb_suggester *program = rb_search_program_suggester(w->program);
    if (program->suggest(program->ctx, w->question.engine, w->question.trial, w->question.resource, w->question.arena,
                         w->question.out))
        rb_loop_uv_stop(w->uv);
}

static bool suggest(void *ctx, const struct rb_engine *e, int trial, int64_t resource, struct rb_arena *arena,
                    struct rb_event *out)
{
    struct rb_search_wait *w = ctx;
    const struct rb_loop *loop = rb_loop_uv_loop(w->uv);
    *out = (struct rb_event){.kind = RB_EVENT_SUGGESTED, .trial = trial};
    if (w->failure.code != RB_ERR_NONE)
        return true;
    w->question.engine = e;
    w->question.trial = trial;
    w->question.resource = resource;
    w->question.arena = arena;
    w->question.out = out;
    loop->timer_start(loop->ctx, 0, ask, w);
    rb_loop_uv_run(w->uv);
    return true;
}

static void saw(void *ctx, const struct rb_engine *e, const struct rb_event *event, const struct rb_actions *actions)
{
    const struct rb_search_wait *w = ctx;
    const struct rb_suggester *program = rb_search_program_suggester(w->program);
    program->saw(program->ctx, e, event, actions);
}

struct rb_search_wait *rb_search_wait_create(const struct rb_plan *plan, const char *workdir)
{
    struct rb_search_wait *w = rb_xcalloc(1, sizeof *w);
    w->uv = rb_loop_uv_create();
    w->program = rb_search_program_create(&(struct rb_search_program_config){
        .loop = rb_loop_uv_loop(w->uv),
        .plan = plan,
        .workdir = workdir,
        .answered = on_answered,
        .note = on_note,
        .failed = on_failed,
        .ctx = w,
    });
    w->suggester = (struct rb_suggester){.ctx = w, .saw = saw, .suggest = suggest};
    return w;
}

void rb_search_wait_destroy(struct rb_search_wait *w)
{
    if (!w)
        return;
    rb_search_program_destroy(w->program);
    rb_loop_uv_destroy(w->uv);
    free(w);
}

const struct rb_suggester *rb_search_wait_suggester(const struct rb_search_wait *w)
{
    return &w->suggester;
}

const struct rb_err *rb_search_wait_failure(const struct rb_search_wait *w)
{
    return w->failure.code == RB_ERR_NONE ? NULL : &w->failure;
}
