// TensorBoard: one directory a trial, DIR/trial-0007, with its metric as scalars and its parameters for the HParams page.
#include "executor/sinks/sink.h"
#include "executor/sinks/sink_file.h"
#include "executor/sinks/tfevents.h"

#include <inttypes.h>
#include <stdlib.h>

struct tensorboard {
    const struct rb_sink_run *run;
    const char *dir;
    struct rb_sink_file **files; // by trial, [n]; NULL: it has not started
    int n;
};

static bool tb_open(const struct rb_sink_run *run, const struct rb_sink_target *target, void **out, struct rb_err *err)
{
    if (!rb_sink_make_dirs(target->path, true, err))
        return false;
    struct tensorboard *t = rb_xcalloc(1, sizeof *t);
    t->run = run;
    t->dir = target->path;
    *out = t;
    return true;
}

static bool put(struct rb_sink_file *f, const struct rb_buf *bytes, struct rb_err *err)
{
    return rb_sink_file_put(f, bytes->data, bytes->len, err);
}

// The name says nothing of this process: written again, it is the same file.
static bool tb_trial_started(void *sink, const struct rb_sink_trial *trial, struct rb_err *err)
{
    struct tensorboard *t = sink;
    const double wall_s = (double)trial->unix_us / 1e6;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, bytes = RB_BUF_INIT, group = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/trial-%04d/events.out.tfevents.%" PRId64 ".rubberband.%d.0", t->dir, trial->trial,
                  trial->unix_us / RB_US_PER_S, trial->trial);
    rb_buf_printf(&group, "%s trial %d", t->run->run_id, trial->trial);
    if (trial->trial >= t->n) {
        t->files = rb_xrealloc(t->files, (size_t)trial->trial + 1, sizeof(struct rb_sink_file *));
        while (t->n <= trial->trial)
            t->files[t->n++] = NULL;
    }
    if (!rb_sink_file_open(rb_buf_str(&path), &t->files[trial->trial], err))
        return false;
    rb_tf_version(wall_s, &bytes);
    rb_tf_session_start(wall_s, &t->run->plan->job->space, trial->values, rb_buf_str(&group), &bytes);
    return put(t->files[trial->trial], &bytes, err);
}

static struct rb_sink_file *file_of(const struct tensorboard *t, int trial)
{
    return trial < t->n ? t->files[trial] : NULL;
}

static bool tb_reported(void *sink, const struct rb_sink_report *r, struct rb_err *err)
{
    struct tensorboard *t = sink;
    RB_AUTO(rb_buf_finish) struct rb_buf bytes = RB_BUF_INIT;
    if (!file_of(t, r->trial))
        return true;
    rb_tf_scalar((double)r->unix_us / 1e6, r->resource, t->run->plan->job->metric_name, r->metric, &bytes);
    return put(file_of(t, r->trial), &bytes, err);
}

// A session that goes on after its end is ended once more later: TensorBoard takes the last.
static bool tb_trial_ended(void *sink, int trial, enum rb_sink_state state, int64_t unix_us, struct rb_err *err)
{
    struct tensorboard *t = sink;
    RB_AUTO(rb_buf_finish) struct rb_buf bytes = RB_BUF_INIT;
    if (!file_of(t, trial) || state == RB_SINK_RUNNING)
        return true;
    rb_tf_session_end((double)unix_us / 1e6, state == RB_SINK_FAILED ? RB_TF_FAILURE : RB_TF_SUCCESS, &bytes);
    return put(file_of(t, trial), &bytes, err);
}

static bool tb_flush(void *sink, const struct rb_sink_now *now, struct rb_err *err)
{
    struct tensorboard *t = sink;
    (void)now;
    for (int i = 0; i < t->n; i++)
        if (t->files[i] && !rb_sink_file_flush(t->files[i], err))
            return false;
    return true;
}

static void tb_close(void *sink)
{
    struct tensorboard *t = sink;
    for (int i = 0; i < t->n; i++)
        rb_sink_file_close(t->files[i]);
    free(t->files);
    free(t);
}

const struct rb_sink_ops rb_sink_tensorboard = {
    .name = "tensorboard",
    .open = tb_open,
    .trial_started = tb_trial_started,
    .reported = tb_reported,
    .trial_ended = tb_trial_ended,
    .flush = tb_flush,
    .close = tb_close,
};
