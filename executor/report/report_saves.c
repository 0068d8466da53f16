#include "executor/report/report_saves.h"

#include <stdlib.h>

struct saves {
    struct rb_task_row *tasks;
    int n_tasks;
    int64_t *resource; // by task, [n_tasks]: of its last midway checkpoint, 0: none
    int n;
};

// The trial's last start with this attempt's number that began before the event; -1: none. Starts come by trial.
static int start_of(const struct saves *s, const struct rb_event *e)
{
    int low = 0, found = -1;
    for (int high = s->n_tasks; low < high;) {
        const int middle = low + (high - low) / 2;
        if (s->tasks[middle].trial < e->trial)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = low; i < s->n_tasks && s->tasks[i].trial == e->trial; i++)
        if (s->tasks[i].attempt == e->attempt && s->tasks[i].started_us <= e->time_us)
            found = i;
    return found;
}

static bool take_save(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct saves *s = ctx;
    (void)err;
    const int start = e->kind == RB_EVENT_TRIAL_SAVED ? start_of(s, e) : -1;
    if (start >= 0) {
        s->resource[start] = e->resource;
        s->n++;
    }
    return true;
}

static bool take_report(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    struct saves *s = ctx;
    (void)err;
    const int start = e->kind == RB_EVENT_REPORT ? start_of(s, e) : -1;
    if (start >= 0 && e->resource == s->resource[start])
        s->tasks[start].kept_us = e->time_us;
    return true;
}

bool rb_report_saves(struct rb_journal *j, struct rb_task_row *tasks, int n_tasks, struct rb_err *err)
{
    struct saves s = {.tasks = tasks, .n_tasks = n_tasks};
    s.resource = rb_xcalloc((size_t)n_tasks + 1, sizeof *s.resource);
    const bool ok = rb_journal_each_event(j, take_save, &s, err) &&
                    (s.n == 0 || rb_journal_each_event(j, take_report, &s, err));
    free(s.resource);
    return ok;
}
