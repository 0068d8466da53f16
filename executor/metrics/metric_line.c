// Reports in lines of text. JSON goes through the document type, after NaN and Infinity, which Python writes
// and JSON does not know, have been turned into strings.
#include "executor/metrics/metric_line.h"

#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/limits.h"
#include "base/text/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static bool is_resource(double v)
{
    return v >= 0 && v <= 0x1p53 && v - floor(v) <= 0;
}

// What one line has reported so far.
struct found {
    const char *unit, *metric_name;
    bool has_resource, has_metric, has_sqr, has_var;
    struct rb_metric_line line;
};

static bool is_name(const char *name, size_t n, const char *wanted)
{
    return strlen(wanted) == n && memcmp(name, wanted, n) == 0;
}

// A value that is not a finite number in its range counts as not reported.
static void take_step(struct found *f, const char *name, size_t name_len, double value)
{
    struct rb_step_stats *steps = &f->line.steps;
    if (is_name(name, name_len, "grad_sqr")) {
        f->has_sqr = isfinite(value);
        steps->noise.sqr = value;
    } else if (is_name(name, name_len, "grad_var")) {
        f->has_var = isfinite(value);
        steps->noise.var = value;
    } else if (is_name(name, name_len, "step_s")) {
        steps->step_s = isfinite(value) && value > 0 ? value : 0;
    } else if (is_name(name, name_len, "sync_s")) {
        steps->has_sync = isfinite(value) && value >= 0;
        steps->sync_s = value;
    }
}

// Both halves of the noise or none; a part of a step is shorter than the step.
static void settle_steps(struct found *f)
{
    struct rb_step_stats *steps = &f->line.steps;
    steps->has_noise = f->has_sqr && f->has_var;
    if (!steps->has_noise)
        steps->noise = (struct rb_grad_noise){0};
    steps->has_sync = steps->has_sync && steps->sync_s < steps->step_s;
    if (!steps->has_sync)
        steps->sync_s = 0;
}

static void take(void *ctx, const char *name, size_t name_len, double value)
{
    struct found *f = ctx;
    // The metric first: a job may tune the metric "resource", or count in a unit with the metric's name.
    if (is_name(name, name_len, f->metric_name)) {
        f->line.metric = value;
        f->has_metric = true;
    } else if (is_name(name, name_len, f->unit) || is_name(name, name_len, "resource")) {
        f->has_resource = is_resource(value);
        f->line.resource = f->has_resource ? (int64_t)value : 0;
    } else if (is_name(name, name_len, "RB_PACED")) {
        f->line.paced = value > 0;
    } else {
        take_step(f, name, name_len, value);
    }
}

bool rb_is_checkpoint_name(const char *name)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return isalnum((unsigned char)name[0]) && strlen(name) <= RB_CHECKPOINT_NAME_MAX &&
           name[strspn(name, allowed)] == '\0';
}

// A name that is too long is cut behind the first byte too many.
static void take_text(void *ctx, const char *name, size_t name_len, const char *text, size_t n)
{
    struct found *f = ctx;
    const size_t most = sizeof f->line.checkpoint - 1;
    if (!is_name(name, name_len, "checkpoint"))
        return;
    n = n < most ? n : most;
    memcpy(f->line.checkpoint, text, n);
    f->line.checkpoint[n] = '\0';
}

static bool separates(char c)
{
    return isspace((unsigned char)c) || c == ',' || c == ';';
}

// Who takes what a line says.
struct taker {
    rb_metric_value_fn *number;
    void (*text)(void *ctx, const char *name, size_t name_len, const char *text, size_t n); // every value as written; may be NULL
    void *ctx;
};

static void read_words(const char *bytes, size_t n, const struct taker *to)
{
    for (size_t at = 0; at < n;) {
        while (at < n && separates(bytes[at]))
            at++;
        const size_t start = at;
        while (at < n && !separates(bytes[at]))
            at++;
        const char *equals = memchr(bytes + start, '=', at - start);
        if (!equals)
            continue;
        const size_t name_len = (size_t)(equals - (bytes + start));
        double value;
        if (to->text)
            to->text(to->ctx, bytes + start, name_len, equals + 1, at - start - name_len - 1);
        if (rb_parse_printed(equals + 1, at - start - name_len - 1, &value))
            to->number(to->ctx, bytes + start, name_len, value);
    }
}

// Bare NaN, Infinity and -Infinity outside strings become strings.
static void quote_non_finite(const char *bytes, size_t n, struct rb_buf *out)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool in_string = false;
    for (size_t at = 0; at < n; at++) {
        size_t len = 0;
        for (int w = 0; !in_string && w < 3 && len == 0; w++)
            if (strlen(words[w]) <= n - at && memcmp(bytes + at, words[w], strlen(words[w])) == 0)
                len = strlen(words[w]);
        if (len > 0) {
            rb_buf_putc(out, '"');
            rb_buf_append(out, bytes + at, len);
            rb_buf_putc(out, '"');
            at += len - 1;
            continue;
        }
        if (in_string && bytes[at] == '\\' && at + 1 < n)
            rb_buf_putc(out, bytes[at++]);
        else if (bytes[at] == '"')
            in_string = !in_string;
        rb_buf_putc(out, bytes[at]);
    }
}

static void read_json(const char *bytes, size_t n, const struct taker *to)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    quote_non_finite(bytes, n, &text);
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_doc_parse_json(&doc, "metrics", rb_buf_str(&text), text.len, NULL) || doc.root->kind != RB_NODE_MAP)
        return;
    for (const struct rb_node *node = doc.root->first; node; node = node->next) {
        double value;
        if (to->text && node->kind == RB_NODE_STRING)
            to->text(to->ctx, node->key, strlen(node->key), node->text, node->text_len);
        if (node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT)
            to->number(to->ctx, node->key, strlen(node->key), node->number);
        else if (node->kind == RB_NODE_STRING && rb_parse_printed(node->text, node->text_len, &value))
            to->number(to->ctx, node->key, strlen(node->key), value);
    }
}

static void read_line(const char *bytes, size_t n, const struct taker *to)
{
    size_t start = 0;
    while (start < n && isspace((unsigned char)bytes[start]))
        start++;
    if (n <= RB_LIMIT_METRIC_LINE && start < n && bytes[start] == '{')
        read_json(bytes + start, n - start, to);
    else if (n <= RB_LIMIT_METRIC_LINE)
        read_words(bytes, n, to);
}

void rb_metric_line_values(const char *bytes, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    read_line(bytes, n, &(struct taker){.number = fn, .ctx = ctx});
}

void rb_metric_line_parse(const char *bytes, size_t n, const char *unit, const char *metric_name,
                          struct rb_metric_line *out)
{
    struct found f = {.unit = unit, .metric_name = metric_name};
    read_line(bytes, n, &(struct taker){.number = take, .text = take_text, .ctx = &f});
    settle_steps(&f);
    *out = f.line;
    out->is_report = f.has_resource && f.has_metric;
}

void rb_step_lines_take(struct rb_step_lines *l, struct rb_metric_line *line, double scale)
{
    if (!line->is_report && line->steps.has_noise)
        rb_grad_noise_mean_add(&l->noise, &line->steps.noise, scale);
    if (!line->is_report)
        return;
    if (!line->steps.has_noise)
        line->steps.has_noise = rb_grad_noise_mean_get(&l->noise, &line->steps.noise);
    *l = (struct rb_step_lines){0};
}
