// rbrun attach: follows a run that another process carries out, and ends as that does.
#include "commands/rbrun/rbrun.h"

#include "base/errors/exit_codes.h"
#include "base/errors/log.h"
#include "executor/run/ending.h"
#include "views/run/attach.h"
#include "views/run/pool_following.h"
#include "views/run/run_document.h"

#include <stdio.h>
#include <unistd.h>

enum { ENDING_POLL_US = 100000, ENDING_POLLS = 20 }; // its process writes how it ended within moments

static const struct rb_option attach_options[] = {RB_RUN_COMMON_OPTIONS, {0}};

// The process that carried it out has printed its error elsewhere.
static bool end_as_it_did(const struct rb_run_files *f, int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf error = RB_BUF_INIT;
    for (int i = 0; i < ENDING_POLLS; i++, usleep(ENDING_POLL_US)) {
        if (!rb_run_ending_read(f->dir, out_code, &error))
            continue;
        if (error.len)
            rb_info("rbrun: %s", rb_buf_str(&error));
        return true;
    }
    return rb_err_set(
        err, RB_E_ENDING_UNKNOWN,
        "no process carries run %s out any more, and the last one left no word about its end (what it printed is in "
        "%s/rbrun.log, if it was detached): continue it with `rbrun resume %s`, or end what it launched with `rbrun stop %s`",
        f->run_id, f->dir, f->run_id, f->run_id);
}

static bool conclude(struct rb_following *f, bool json, int *out_code, struct rb_err *err)
{
    return rb_run_report_print(f->journal, &f->files.plan, false, json, err) && end_as_it_did(&f->files, out_code, err);
}

static bool follow(struct rb_pool_following *p, bool json, int *out_code, struct rb_err *err)
{
    enum rb_attach_end end;
    const char *run = p->owner.files.run_id;
    rb_info("run %s; Ctrl-C leaves it, and it goes on", run);
    if (!rb_attach(&p->owner, json, &end, err))
        return false;
    if (end == RB_ATTACH_OVER)
        return conclude(&p->owner, json, out_code, err);
    rb_info("left; run %s goes on: come back with `rbrun attach %s`, end it with `rbrun stop %s`", run, run, run);
    *out_code = RB_CODE_FAILED; // 0 would say that it is complete, INTERRUPTED that it was ended
    return true;
}

static bool attach(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_pool_following_finish) struct rb_pool_following p;
    return rb_pool_following_open(&p, rb_run_state_dir(args), args->n_args ? args->args[0] : NULL, err) &&
           follow(&p, rb_args_flag(args, "json"), args->out_code, err);
}

const struct rb_command rb_run_attach = {
    .name = "rbrun attach",
    .usage = "[options] [RUN]",
    .summary = "Follows a run that another process carries out, as `rbrun` shows its own, and ends with the run's exit "
               "code. Ctrl-C leaves, and the run goes on. RUN: its id, its job's name, or the beginning of either; the "
               "newest.",
    .examples = "  rbrun attach\n"
                "  rbrun attach digits-2026\n"
                "  rbrun attach digits-2026 --json > report.json\n",
    .options = attach_options,
    .max_args = 1,
    .run = attach,
};
