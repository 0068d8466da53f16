#include "views/tables/report_trials.h"

#include "base/errors/log.h"
#include "views/pages/document.h"

#include <string.h>

static int find(const char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static void add_names(const struct rb_node *map, const char **names, int *n)
{
    for (const struct rb_node *p = map ? map->first : NULL; p; p = p->next)
        if (find(names, *n, p->key) < 0 && *n < RB_LIMIT_PARAMETERS)
            names[(*n)++] = p->key;
}

int rb_report_parameters(const struct rb_node *report, const struct rb_node *declared,
                         const char *out[static RB_LIMIT_PARAMETERS])
{
    const char *used[RB_LIMIT_PARAMETERS], *ordered[2 * RB_LIMIT_PARAMETERS];
    int n_used = 0, n_ordered = 0, n = 0;
    for (const struct rb_node *t = rb_document_items(report, "trials"); t; t = t->next)
        add_names(rb_document_member(t, "params"), used, &n_used);
    add_names(declared, ordered, &n_ordered);
    for (int i = 0; i < n_used; i++)
        if (find(ordered, n_ordered, used[i]) < 0)
            ordered[n_ordered++] = used[i];
    for (int i = 0; i < n_ordered; i++)
        if (find(used, n_used, ordered[i]) >= 0)
            out[n++] = ordered[i];
    return n;
}

bool rb_report_has_reasons(const struct rb_node *report)
{
    for (const struct rb_node *t = rb_document_items(report, "trials"); t; t = t->next)
        if (rb_document_text(t, "origin")[0])
            return true;
    return false;
}

void rb_report_reason_write(const char *origin, const char *because, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char clean[512];
    rb_buf_printf(&text, "%s%s%s", origin && *origin ? origin : "-", because && *because ? ": " : "", because ? because : "");
    rb_buf_puts(out, rb_log_sanitise(rb_buf_str(&text), text.len, clean, sizeof clean));
}

void rb_report_trial_reason(const struct rb_node *trial, struct rb_buf *out)
{
    rb_report_reason_write(rb_document_text(trial, "origin"), rb_document_text(trial, "because"), out);
}
