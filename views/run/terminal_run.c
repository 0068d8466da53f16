#include "views/run/terminal_run.h"

#include "base/errors/log.h"
#include "executor/run/ending.h"
#include "views/live/progress.h"
#include "views/run/run_document.h"
#include "views/run/run_line.h"

struct terminal_run {
    struct rb_session *session;
    struct rb_run_line line;
    bool json;
};

static void write_line(void *ctx, int width, struct rb_buf *out)
{
    struct terminal_run *t = ctx;
    struct rb_progress p;
    rb_session_foresee(t->session);
    rb_session_progress(t->session, &p);
    rb_progress_write(&p, width, out);
}

static void begin_line(void *ctx, struct rb_loop_uv *uv)
{
    struct terminal_run *t = ctx;
    rb_run_line_begin(&t->line, uv);
}

static void wipe_line(void *ctx)
{
    struct terminal_run *t = ctx;
    rb_run_line_wipe(&t->line);
}

void rb_terminal_run_event(void *ctx, const char *label, const struct rb_plan *plan, const struct rb_event *event,
                           const struct rb_actions *actions)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    (void)ctx;
    rb_progress_event_write(event, plan, &line);
    rb_info("%9.3f s  %s%s", (double)event->time_us / 1e6, label, rb_buf_str(&line));
    for (int i = 0; i < actions->n; i++) {
        rb_buf_clear(&line);
        rb_progress_action_write(&actions->items[i], plan, &line);
        const struct rb_action *a = &actions->items[i];
        const bool plain_start =
            a->kind == RB_ACTION_START_TRIAL && a->with.batch.per_gpu == 0; // its first report shows it
        if (line.len && !plain_start)
            rb_info("%14s%s%s", "", label, rb_buf_str(&line));
    }
}

static bool report(void *ctx, struct rb_journal *journal, const struct rb_plan *plan, struct rb_err *err)
{
    const struct terminal_run *t = ctx;
    return rb_run_report_print(journal, plan, false, t->json, err);
}

bool rb_terminal_run(struct rb_run_files *files, struct rb_journal *journal, const struct rb_session_options *options,
                     int *out_code, struct rb_err *err)
{
    struct terminal_run t = {.json = options->json, .line = {.write = write_line, .ctx = &t}};
    const bool has_line = !options->json && rb_run_line_has_room();
    const struct rb_run_show show = {
        .begin = has_line ? begin_line : NULL,
        .wipe = wipe_line,
        .event = has_line || options->json ? NULL : rb_terminal_run_event,
        .report = report,
        .ctx = &t,
    };
    rb_run_ending_clear(files->dir);
    if (!rb_session_begin(files, journal, options, &show, NULL, &t.session, err))
        return false;
    rb_session_run(t.session);
    const bool ok = rb_session_close(t.session, out_code, err);
    rb_run_ending_keep(files->dir, ok ? *out_code : rb_err_exit_code(err), ok ? NULL : err);
    return ok;
}
