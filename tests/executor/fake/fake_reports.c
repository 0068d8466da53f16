#include "fake_reports.h"

#include "base/arena.h"

#include <math.h>
#include <stdlib.h>

struct report_list {
    struct rb_event *items;
    int n, cap;
};

bool fake_same_metric(double a, double b)
{
    return isnan(a) ? isnan(b) : fabs(a - b) <= 0;
}

static bool take_report(void *ctx, const struct rb_event *e, struct rb_err *err)
{
    (void)err;
    struct report_list *l = ctx;
    if (e->kind != RB_EVENT_REPORT)
        return true;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->items = rb_xrealloc(l->items, (size_t)l->cap, sizeof *l->items);
    }
    l->items[l->n++] = *e;
    return true;
}

static int count(const struct report_list *l, int trial, int attempt, int64_t resource)
{
    int n = 0;
    for (int i = 0; i < l->n; i++)
        n += l->items[i].trial == trial && l->items[i].attempt == attempt && l->items[i].resource == resource &&
             fake_same_metric(l->items[i].metric, fake_metric(trial, resource));
    return n;
}

// Starts that printed the line. One that was set back to where an earlier stage began prints it again under the same number.
static int count_printed(const struct fake_machines *m, int trial, int attempt, int64_t resource)
{
    int n = 0;
    for (int i = 0; i < m->n_processes; i++) {
        const struct fake_process *p = m->processes[i];
        n += p->trial == trial && p->attempt == attempt && resource > p->resource_start &&
             resource <= p->resource_start + p->n_lines;
    }
    return n;
}

int fake_reports_lost(const struct fake_machines *m, struct rb_journal *journal)
{
    struct report_list reports = {0};
    struct rb_err err;
    int lost = 0;
    if (!rb_journal_each_event(journal, take_report, &reports, &err))
        abort();
    for (int i = 0; i < m->n_processes; i++) {
        const struct fake_process *p = m->processes[i];
        for (int k = 1; p->saved && k <= p->n_lines; k++) {
            const int64_t resource = p->resource_start + k;
            const int n = count(&reports, p->trial, p->attempt, resource);
            lost += n < 1 || n > count_printed(m, p->trial, p->attempt, resource);
        }
    }
    free(reports.items);
    return lost;
}
