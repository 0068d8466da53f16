#include "views/run/attach.h"

#include "base/errors/log.h"
#include "views/live/pool_progress.h"
#include "views/live/progress.h"
#include "views/run/run_line.h"

enum { LOOK_US = 500000 };

struct attach {
    struct rb_following *f;
    struct rb_loop_uv *uv;
    const struct rb_loop *loop;
    struct rb_run_line line;
    enum rb_attach_end end;
    struct rb_err err;
};

static void write_line(void *ctx, int width, struct rb_buf *out)
{
    const struct rb_run_screen *s = &((const struct attach *)ctx)->f->screen;
    if (s->pool)
        rb_pool_progress_write(s->pool, width, out);
    else
        rb_progress_write(&s->progress, width, out);
}

static void print_event(void *ctx, int64_t time_us, const char *text)
{
    (void)ctx;
    rb_info("%9.3f s  %s", (double)time_us / 1e6, text);
}

static void leave(void *arg)
{
    struct attach *a = arg;
    a->end = RB_ATTACH_LEFT;
    rb_loop_uv_stop(a->uv);
}

static void look(void *arg)
{
    struct attach *a = arg;
    a->loop->timer_start(a->loop->ctx, LOOK_US, look, a);
    if (!rb_following_look(a->f, false, &a->err) || rb_following_is_over(a->f))
        rb_loop_uv_stop(a->uv);
}

static void follow(struct attach *a, bool quiet)
{
    const bool has_line = !quiet && rb_run_line_has_room();
    a->uv = rb_loop_uv_create();
    a->loop = rb_loop_uv_loop(a->uv);
    rb_loop_uv_on_interrupt(a->uv, leave, a);
    if (has_line)
        rb_run_line_begin(&a->line, a->uv);
    else if (!quiet)
        a->f->line = print_event;
    a->loop->timer_start(a->loop->ctx, LOOK_US, look, a);
    rb_loop_uv_run(a->uv);
    rb_run_line_wipe(&a->line);
    rb_loop_uv_destroy(a->uv);
    a->f->line = NULL;
}

bool rb_attach(struct rb_following *f, bool quiet, enum rb_attach_end *out, struct rb_err *err)
{
    struct attach a = {.f = f, .line = {.write = write_line, .ctx = &a}, .end = RB_ATTACH_OVER};
    if (!rb_following_look(f, false, err))
        return false;
    if (!rb_following_is_over(f))
        follow(&a, quiet);
    if (a.err.code) {
        *err = a.err;
        return false;
    }
    *out = a.end;
    return true;
}
