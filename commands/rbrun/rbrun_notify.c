// rbrun notify: sends the notices that a run left in its outbox.
#include "commands/rbrun/rbrun.h"

#include "base/errors/log.h"
#include "executor/notify/notify.h"
#include "executor/transport/loop_uv.h"

#include <stdio.h>

static const struct rb_option notify_options[] = {
    {"wait", 0, RB_OPT_DURATION, false, "D", "try for at most this long (default 1m)", 0, 0},
    {"state-dir", 0, RB_OPT_STRING, false, "DIR", "where runs live (default: the user's state directory)", 0, 0},
    {0},
};

static void warn(void *ctx, const char *text)
{
    (void)ctx;
    rb_warn("%s", text);
}

static void stop(void *ctx)
{
    rb_loop_uv_stop(ctx);
}

static bool count(struct rb_notify *n, int before, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf why = RB_BUF_INIT;
    const int left = rb_notify_count_open(n, &why);
    printf("%d delivered, %d left\n", before - left, left);
    return left == 0 || rb_err_set(err, RB_E_NOTICES_WAIT, "%d notice%s not delivered%s%s", left,
                                   left == 1 ? " was" : "s were", why.len ? ": " : "", rb_buf_str(&why));
}

// It writes no notices, so it does not look at the run.
static bool deliver(struct rb_loop_uv *uv, const struct rb_run_files *f, struct rb_journal *journal, int64_t most_us,
                 struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf unused = RB_BUF_INIT;
    struct rb_notify *n;
    if (!rb_notify_create(&(struct rb_notify_config){.loop = rb_loop_uv_loop(uv),
                                                     .journal = journal,
                                                     .job = f->plan.job,
                                                     .run_id = f->run_id,
                                                     .workdir = f->workdir,
                                                     .warn = warn},
                          &n, err))
        return false;
    if (!n) {
        rb_info("the job of %s has no hooks", f->run_id);
        return true;
    }
    const int before = rb_notify_count_open(n, &unused);
    rb_loop_uv_on_interrupt(uv, stop, uv);
    rb_notify_drain(n, most_us, stop, uv);
    rb_loop_uv_run(uv);
    const bool ok = count(n, before, err);
    rb_notify_destroy(n);
    return ok;
}

static bool notify(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *journal;
    if (!rb_run_files_open(&f, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err) ||
        !rb_journal_open(f.journal, &journal, err))
        return false;
    struct rb_loop_uv *uv = rb_loop_uv_create();
    const bool ok = deliver(uv, &f, journal, rb_args_duration_us(args, "wait", 60 * RB_US_PER_S), err);
    rb_loop_uv_destroy(uv);
    rb_journal_close(journal);
    return ok;
}

const struct rb_command rb_run_notify = {
    .name = "rbrun notify",
    .usage = "[options] [RUN]",
    .summary = "Sends the notices of a run that is over to the hooks that have not taken them. A run that is being "
               "executed sends its own.",
    .examples = "  rbrun notify\n"
                "  rbrun notify digits-2026 --wait 10m\n",
    .options = notify_options,
    .max_args = 1,
    .run = notify,
};
