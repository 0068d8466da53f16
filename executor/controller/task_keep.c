// Midway checkpoints: a script announces a folder with a report, or its files change and rest. The launcher archives it
// while the trial trains on, and once it is safe the event `saved` and the row of the start say so in one transaction. Until
// then the trial's last checkpoint is the one before.
#include "executor/controller/controller_private.h"

#include "profiles/store/save_interval.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int64_t rb_run_task_keep_every_s(const struct rb_run_task *t)
{
    const struct rb_plan *plan = t->c->config.plan;
    const int offer = t->c->nodes[t->row.slots[0].node]->row.offer;
    return rb_save_interval_s(plan->job, plan->profile, &plan->offers[offer]);
}

// Once per start: a script that does it wrong does so every time.
static void warn(struct rb_run_task *t, int64_t resource, const char *why)
{
    struct rb_controller *c = t->c;
    if (t->said_unkept)
        return;
    t->said_unkept = true;
    rb_controller_note(c, "warning",
                       "trial %d: the midway checkpoint of its report of %s %" PRId64 " is not kept: %s; it trains on, and if it "
                       "is lost it starts again from the checkpoint before",
                       t->row.trial, c->config.plan->job->scheduler.unit, resource, why);
}

// Archives it, or only removes it: it adds nothing to what is safe.
static void keep(struct rb_run_task *t, const char *name, int64_t resource)
{
    struct rb_controller *c = t->c;
    RB_AUTO(rb_buf_finish) struct rb_buf dest = RB_BUF_INIT;
    rb_buf_printf(&dest, "%s/checkpoints/trial-%04d/stage-%d" RB_CHECKPOINT_MIDWAY "%" PRId64 ".start-%d",
                  c->config.run_dir, t->row.trial, t->row.stage, resource, t->row.start);
    const bool wanted = t->row.state == RB_TASK_INTENT && !c->config.plan->job->starts_over &&
                        rb_engine_may_save(c->engine, t->row.trial, t->row.attempt, resource);
    c->launcher->ops->keep(c->launcher, t->row.trial, t->row.start, name, resource, wanted ? rb_buf_str(&dest) : NULL);
}

void rb_run_task_announced(struct rb_run_task *t, const struct rb_metric_line *report)
{
    struct rb_controller *c = t->c;
    if (!report->is_report || !report->checkpoint[0] || c->dead)
        return;
    if (!rb_is_checkpoint_name(report->checkpoint)) {
        warn(t, report->resource,
             "checkpoint= takes the name of a folder in RB_CHECKPOINT_DIR, of at most 64 letters, digits and . _ -, that begins "
             "with a letter or a digit");
        return;
    }
    t->announces = true;
    keep(t, report->checkpoint, report->resource);
}

// Of scripts that know nothing of this: their files are of the last report before they began to change, or of a later one. They may
// be saved before their unit is reported, so the last unit's are left alone: a start from there would have nothing to report.
void rb_run_task_rested(void *ctx, int trial, int start, const char *name)
{
    struct rb_run_task *t = rb_run_task_find(ctx, trial, start);
    if (!t || t->c->dead || t->row.state != RB_TASK_INTENT || t->announces)
        return;
    if (!name)
        t->changed = t->read;
    else if (2 * t->changed.last - t->changed.before < t->row.resource_end)
        keep(t, name, t->changed.last);
}

void rb_run_task_use_checkpoint(struct rb_run_task *t, const char *checkpoint)
{
    struct rb_run_trial *trial = rb_run_trial_at(t->c, t->row.trial);
    const size_t root = strlen(t->c->config.run_dir);
    if (strncmp(checkpoint, t->c->config.run_dir, root) == 0 && checkpoint[root] == '/')
        checkpoint += root + 1;
    snprintf(t->row.checkpoint, sizeof t->row.checkpoint, "%s", checkpoint);
    memcpy(trial->checkpoint, t->row.checkpoint, sizeof trial->checkpoint);
}

// May a trial that copies this one still have to begin?
static bool has_unsaved_clone(struct rb_controller *c, int trial)
{
    for (int i = trial + 1; i < rb_engine_n_trials(c->engine); i++)
        if (rb_engine_trial(c->engine, i)->parent == trial && !rb_run_trial_at(c, i)->checkpoint[0])
            return true;
    return false;
}

// Archives that a controller left which died before it wrote them down are among them. Those of stages' ends are kept. A stage
// counts with a checkpoint from its middle if the trial overran its end, and then clones may begin with it.
static void remove_archives(struct rb_controller *c, int trial, const char *but)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    const char *kept = strrchr(but, '/');
    rb_buf_printf(&path, "%s/checkpoints/trial-%04d", c->config.run_dir, trial);
    DIR *dir = opendir(rb_buf_str(&path));
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (strstr(e->d_name, RB_CHECKPOINT_MIDWAY) && (!kept || strcmp(e->d_name, kept + 1) != 0) &&
            !has_unsaved_clone(c, trial))
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
}

void rb_run_task_drop_midway(struct rb_controller *c, int trial, int start, const char *before)
{
    const char *last = rb_run_trial_at(c, trial)->checkpoint;
    if (!strstr(last, "://"))
        remove_archives(c, trial, last);
    else if (strstr(before, RB_CHECKPOINT_MIDWAY) && strcmp(before, last) != 0 && !has_unsaved_clone(c, trial))
        c->launcher->ops->discard(c->launcher, trial, start, before);
}

void rb_run_task_kept(void *ctx, int trial, int start, int64_t resource, const char *checkpoint,
                      const struct rb_err *err)
{
    struct rb_controller *c = ctx;
    struct rb_run_task *t = rb_run_task_find(c, trial, start);
    char before[sizeof t->row.checkpoint];
    if (c->dead || !t || t->row.state != RB_TASK_INTENT ||
        !rb_engine_may_save(c->engine, trial, t->row.attempt, resource))
        return;
    if (err) {
        if (rb_err_number(err) != RB_E_MACHINE_FULL || rb_controller_says_first(&c->said, RB_SAID_NO_ROOM))
            warn(t, resource, err->message);
        return;
    }
    if (!rb_controller_begin(c))
        return;
    memcpy(before, rb_run_trial_at(c, trial)->checkpoint, sizeof before);
    rb_run_task_use_checkpoint(t, checkpoint);
    t->kept_us = rb_controller_now_us(c);
    if (!rb_run_task_write(t))
        return;
    rb_controller_turn(c, (struct rb_event){.kind = RB_EVENT_TRIAL_SAVED,
                                            .trial = trial,
                                            .attempt = t->row.attempt,
                                            .stage = t->row.stage,
                                            .resource = resource});
    if (!c->dead)
        rb_run_task_drop_midway(c, trial, start, before);
}
