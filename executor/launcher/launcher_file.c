// Bytes of metric files, which the node script puts into the output: "@rb-file NONCE NAME BYTES" or "... restart", name and
// bytes in base64, "-" for the empty name. And what else it found: of the checkpoint's files "... - changed"
// and "... NAME rested", of what the script was to begin with "... WHY unready", of its cloud "... SECONDS leaving"; and what it was asked to put there, "... WORD echo". The script's own line may have begun before it and goes on after it.
#include "executor/launcher/launcher_private.h"

#include "base/text/number.h"
#include "providers/wire/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LINE = 4608,     // the node script's are shorter
    MOST_NOTICE_S = 3600, // clouds give minutes
};

// Where the line begins in these bytes; n: nowhere.
static size_t find_mark(const char *line, size_t n, const char *mark, size_t mark_len)
{
    for (size_t at = n > MOST_LINE ? n - MOST_LINE : 0; at + mark_len < n; at++) {
        const char *s = memchr(line + at, '@', n - at - mark_len);
        if (!s)
            return n;
        at = (size_t)(s - line);
        if (memcmp(s, mark, mark_len) == 0)
            return at;
    }
    return n;
}

// Appends what the base64 stands for; false: it is none.
static bool decode(const char *text, size_t n, struct rb_buf *out)
{
    char bytes[MOST_LINE];
    if (n > MOST_LINE)
        return false;
    const int len = rb_base64_decode(text, n, bytes);
    if (len >= 0)
        rb_buf_append(out, bytes, (size_t)len);
    return len >= 0;
}

static bool is_word(const char *what, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(what, word, n) == 0;
}

static void report_rest(const struct rb_rank *r, const char *name)
{
    const struct rb_launcher_task *t = r->task;
    if (t->l->config.events.rested && r->index == 0)
        t->l->config.events.rested(t->l->config.events.ctx, t->trial, t->attempt, name);
}

static void report_leaving(const struct rb_rank *r, const char *seconds)
{
    const struct rb_launcher_events *events = &r->task->l->config.events;
    int64_t s;
    if (events->leaving && r->node && rb_parse_int(seconds, &s) && s <= MOST_NOTICE_S)
        events->leaving(events->ctx, r->node->spec.node, s > 0 ? s : 0);
}

static void report_unready(const struct rb_rank *r, const char *why)
{
    rb_launcher_report_no_room(r, why); // any other reason is the trial's, and comes in its output
}

// Words behind which there are no bytes of a file.
static const struct {
    const char *word;
    void (*take)(const struct rb_rank *r, const char *text);
} found[] = {
    {"echo", rb_launcher_take_echo},
    {"rested", report_rest},
    {"leaving", report_leaving},
    {"unready", report_unready},
};

static void report(const struct rb_rank *r, const char *name, size_t name_len, const char *what, size_t n)
{
    const struct rb_launcher_task *t = r->task;
    const struct rb_launcher_events *events = &t->l->config.events;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, bytes = RB_BUF_INIT;
    const bool restart = is_word(what, n, "restart");
    const bool whole = name_len == 1 && name[0] == '-';
    if (is_word(what, n, "changed")) {
        report_rest(r, NULL);
        return;
    }
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (is_word(what, n, found[i].word)) {
            if (decode(name, name_len, &path))
                found[i].take(r, rb_buf_str(&path));
            return;
        }
    if (!events->file || r->index > 0 || (!whole && !decode(name, name_len, &path)) ||
        (!restart && !decode(what, n, &bytes)) || strlen(rb_buf_str(&path)) != path.len)
        return;
    events->file(events->ctx, t->trial, t->attempt, rb_buf_str(&path), rb_buf_str(&bytes), bytes.len, restart);
}

size_t rb_launcher_take_file(struct rb_rank *r, const char *line, size_t n)
{
    char mark[64];
    const size_t mark_len = (size_t)snprintf(mark, sizeof mark, "@rb-file %s ", r->task->nonce);
    const size_t at = find_mark(line, n, mark, mark_len);
    if (at == n)
        return n;
    const char *name = line + at + mark_len, *end = line + n;
    const char *blank = memchr(name, ' ', (size_t)(end - name));
    if (blank)
        report(r, name, (size_t)(blank - name), blank + 1, (size_t)(end - blank - 1));
    return at;
}
