#include "executor/notify/notice.h"

#include "base/document/json.h"
#include "base/text/units.h"
#include "profiles/job/job_notify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void rb_notice_id(const char *run_id, int64_t seq, char out[static 160])
{
    snprintf(out, 160, "%.130s-%" PRId64, run_id, seq);
}

// ---- the sentence for people

static void write_cost(const struct rb_progress *p, struct rb_buf *out)
{
    char text[32];
    if (!p->is_lent && !p->is_free && p->spent_uusd >= 0)
        rb_buf_printf(out, ", %s", rb_format_money(p->spent_uusd, text));
}

static void write_best(const struct rb_progress *p, struct rb_buf *out)
{
    if (p->best_trial >= 0)
        rb_buf_printf(out, "; best: trial %d, %s %.6g", p->best_trial, p->metric_name, p->best_metric);
}

static void write_finished(const struct rb_notice *n, struct rb_buf *out)
{
    char elapsed[32];
    rb_buf_printf(out, " is over: %s, after %s", n->outcome, rb_format_duration(n->now->elapsed_us, elapsed));
    write_cost(n->now, out);
    write_best(n->now, out);
}

static void write_budget(const struct rb_notice *n, struct rb_buf *out)
{
    char spent[32], budget[32];
    rb_buf_printf(out, " has spent %s of its budget of %s", rb_format_money(n->now->spent_uusd, spent),
                  rb_format_money(n->now->budget_uusd, budget));
}

static void write_text(const struct rb_notice *n, struct rb_buf *out)
{
    static const char *const plain[RB_NOTICE_KINDS] = {
        [RB_NOTICE_STARTED] = " has begun",
        [RB_NOTICE_CUT_OFF] = " is cut off from its nodes and its cloud",
        [RB_NOTICE_RECONNECTED] = " reaches its cloud again",
        [RB_NOTICE_LATE] = " will probably be late",
        [RB_NOTICE_RESUMED] = " goes on",
        [RB_NOTICE_INSTANCES_LEFT] = " may have left instances that are billed",
        [RB_NOTICE_MOVED] = " has moved and goes on",
        [RB_NOTICE_CREDENTIALS_ENDING] = " will outlive its credentials",
    };
    rb_buf_puts(out, n->run_id);
    if (n->kind == RB_NOTICE_FINISHED)
        write_finished(n, out);
    else if (n->kind == RB_NOTICE_NODE_LOST)
        rb_buf_printf(out, " has lost %" PRId64 " node%s", n->count, n->count == 1 ? "" : "s");
    else if (n->kind == RB_NOTICE_BUDGET_80)
        write_budget(n, out);
    else
        rb_buf_puts(out, plain[n->kind]);
    if (n->detail)
        rb_buf_printf(out, ": %s", n->detail);
}

// ---- rb-notice/1

static void write_standing(const struct rb_progress *p, struct rb_json *j)
{
    rb_json_put(j, "elapsed_us: %jd|null deadline_us: %jd|null spent_uusd: %jd|null budget_uusd: %jd|null",
                p->elapsed_us, p->deadline_us, p->is_lent ? (int64_t)-1 : p->spent_uusd, p->budget_uusd);
    rb_json_put(j, "nodes: %d nodes_ready: %d p_on_time: %g|null best:", p->nodes, p->nodes_ready, p->p_on_time);
    if (p->best_trial < 0 || !isfinite(p->best_metric))
        rb_json_null(j);
    else
        rb_json_put(j, "{trial: %d metric: %s value: %g}", p->best_trial, p->metric_name, p->best_metric);
}

void rb_notice_write(const struct rb_notice *n, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j = {.out = out};
    char id[160], at[32];
    rb_notice_id(n->run_id, n->seq, id);
    write_text(n, &text);
    rb_json_put(&j, "{format: 'rb-notice/1' id: %s type: %s timestamp: %s run: %s job: %s text: %s", id,
                rb_notice_names[n->kind], rb_format_instant(n->unix_us, at), n->run_id, n->job, rb_buf_str(&text));
    rb_json_put(&j, "outcome: %s|null", n->outcome);
    rb_json_kint_or_null(&j, "nodes_lost", n->kind == RB_NOTICE_NODE_LOST ? n->count : -1);
    write_standing(n->now, &j);
    rb_json_put(&j, "}");
}

// ---- other forms

// Finds members of our own document.
static void take(const char *body, struct rb_doc *doc, const char **type, const char **run, const char **text)
{
    if (!rb_doc_parse_json(doc, "notice", body, strlen(body), NULL))
        *doc = (struct rb_doc){0};
    *type = rb_node_member_text(doc->root, "type");
    *run = rb_node_member_text(doc->root, "run");
    *text = rb_node_member_text(doc->root, "text");
}

void rb_notice_to_slack(const char *body, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf escaped = RB_BUF_INIT;
    struct rb_doc doc = {0};
    struct rb_json j = {.out = out};
    const char *type, *run, *text;
    take(body, &doc, &type, &run, &text);
    for (; *text; text++) {
        if (*text == '&')
            rb_buf_puts(&escaped, "&amp;");
        else if (*text == '<' || *text == '>')
            rb_buf_puts(&escaped, *text == '<' ? "&lt;" : "&gt;");
        else
            rb_buf_putc(&escaped, *text);
    }
    rb_json_put(&j, "{text: %s}", rb_buf_str(&escaped));
    rb_doc_finish(&doc);
}

static void write_header(struct rb_buf *out, const char *name, const char *value)
{
    rb_buf_printf(out, "%s: ", name);
    for (; *value; value++)
        if (*value != '\r' && *value != '\n')
            rb_buf_putc(out, *value);
    rb_buf_putc(out, '\n');
}

void rb_notice_to_mail(const char *body, const char *address, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf subject = RB_BUF_INIT;
    struct rb_doc doc = {0};
    const char *type, *run, *text;
    take(body, &doc, &type, &run, &text);
    rb_buf_printf(&subject, "rubberband: %s: %s", type, run);
    write_header(out, "To", address);
    write_header(out, "Subject", rb_buf_str(&subject));
    write_header(out, "Auto-Submitted", "auto-generated");
    write_header(out, "MIME-Version", "1.0");
    write_header(out, "Content-Type", "text/plain; charset=utf-8");
    rb_buf_printf(out, "\n%s\n\n%s\n", text, body);
    rb_doc_finish(&doc);
}
