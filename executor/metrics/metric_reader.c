#include "executor/metrics/metric_reader.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/limits.h"
#include "executor/metrics/event_file.h"
#include "executor/metrics/metric_formats.h"
#include "profiles/job/metric_pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SEEN = 16,  // names of metrics that are remembered for a message
    SEEN_NAME = 48,  // bytes of each
    MOST_FILES = 64, // of a folder; further ones are ignored
};

struct metric_file {
    char *name;         // below metric.file
    struct rb_buf line; // not complete yet
    bool cut;           // the rest of a longer line is dropped
    struct rb_metric_table table;
    struct rb_event_file events;
};

struct rb_metric_reader {
    struct rb_metric_reader_config config;
    enum rb_metric_format format; // RB_METRIC_AUTO until one has reported
    struct rb_format_state state;
    bool has_resource; // a pattern has found the unit's number
    double resource;
    char seen[MOST_SEEN][SEEN_NAME];
    int n_seen;
    int64_t highest; // resource of any report, -1: none
    struct metric_file *files;
    int n_files;
    struct rb_buf clean; // the line without control sequences
};

// What one line has reported so far.
struct finding {
    struct rb_metric_reader *r;
    bool has_resource, has_metric;
    double resource, metric;
};

static bool is_name(const char *name, size_t n, const char *wanted)
{
    return strlen(wanted) == n && memcmp(name, wanted, n) == 0;
}

static bool is_resource_name(const struct rb_metric_reader *r, const char *name, size_t n)
{
    return is_name(name, n, r->config.unit) || is_name(name, n, RB_METRIC_RESOURCE);
}

// Names are shown in messages: only those that a job could give are kept.
static void note_name(struct rb_metric_reader *r, const char *name, size_t n)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./@:-";
    if (n == 0 || n >= SEEN_NAME || r->n_seen == MOST_SEEN || is_resource_name(r, name, n))
        return;
    for (size_t i = 0; i < n; i++)
        if (!name[i] || !strchr(allowed, name[i]))
            return;
    for (int i = 0; i < r->n_seen; i++)
        if (is_name(name, n, r->seen[i]))
            return;
    memcpy(r->seen[r->n_seen], name, n);
    r->seen[r->n_seen++][n] = '\0';
}

// The metric first: a job may tune a metric that has the unit's name. The first value of a name counts: an epoch's line may
// end with the values of the next.
static void take(void *ctx, const char *name, size_t n, double value)
{
    struct finding *f = ctx;
    note_name(f->r, name, n);
    if (is_name(name, n, f->r->config.metric_name)) {
        f->metric = f->has_metric ? f->metric : value;
        f->has_metric = true;
    } else if (is_resource_name(f->r, name, n)) {
        f->resource = value;
        f->has_resource = true;
    }
}

// The resource as rbrun counts it, from 1 on; -1: the number is no resource.
static int64_t resource_of(const struct rb_metric_reader *r, const struct rb_metric_format_row *row, double printed)
{
    const int64_t base = r->config.form->base == RB_METRIC_BASE_OF_FORMAT ? row->base : r->config.form->base;
    const double whole = nearbyint(printed);
    if (!(printed >= 0 && printed <= 0x1p53) || fabs(printed - whole) > row->tolerance)
        return -1;
    return (int64_t)whole + 1 - base + (row->counts_each_start ? r->config.start : 0);
}

// True: it was a report.
static bool report(struct finding *f, enum rb_metric_format format, rb_metric_fn *fn, void *ctx)
{
    struct rb_metric_reader *r = f->r;
    const int64_t resource =
        f->has_resource && f->has_metric ? resource_of(r, rb_metric_format_row(format), f->resource) : -1;
    if (resource < 0)
        return false;
    r->format = format;
    r->highest = resource > r->highest ? resource : r->highest;
    fn(ctx, &(struct rb_metric_line){.is_report = true, .resource = resource, .metric = f->metric});
    return true;
}

// --- lines ---

static bool read_line_as(struct rb_metric_reader *r, const struct rb_metric_format_row *row, const char *line, size_t n,
                         rb_metric_fn *fn, void *ctx)
{
    struct finding f = {.r = r};
    row->read(&r->state, line, n, take, &f);
    return report(&f, row->format, fn, ctx);
}

// Every pattern is tried: one may find the unit, another the metric.
static bool read_patterns(struct rb_metric_reader *r, const char *line, size_t n, rb_metric_fn *fn, void *ctx)
{
    struct finding f = {.r = r, .has_resource = r->has_resource, .resource = r->resource};
    struct rb_pattern_capture captures[RB_PATTERN_CAPTURES];
    for (int i = 0; i < r->config.form->patterns.n; i++) {
        const int n_captures = rb_metric_pattern_match(r->config.form->patterns.items[i], line, n, captures);
        for (int k = 0; k < n_captures; k++)
            take(&f, captures[k].name, strlen(captures[k].name), captures[k].value);
    }
    r->has_resource = f.has_resource;
    r->resource = f.resource;
    return report(&f, RB_METRIC_PATTERN, fn, ctx);
}

static bool read_any(struct rb_metric_reader *r, const char *line, size_t n, rb_metric_fn *fn, void *ctx)
{
    for (const struct rb_metric_format_row *row = rb_metric_format_rows; row->format != RB_METRIC_AUTO; row++)
        if (row->is_automatic && read_line_as(r, row, line, n, fn, ctx))
            return true;
    return false;
}

static bool read_line(struct rb_metric_reader *r, const char *line, size_t n, rb_metric_fn *fn, void *ctx)
{
    if (n > RB_LIMIT_METRIC_LINE)
        return false;
    if (r->format == RB_METRIC_PATTERN)
        return read_patterns(r, line, n, fn, ctx);
    if (r->format == RB_METRIC_AUTO)
        return read_any(r, line, n, fn, ctx);
    const struct rb_metric_format_row *row = rb_metric_format_row(r->format);
    return row->read && read_line_as(r, row, line, n, fn, ctx);
}

// ESC [ ... letter is left out, and so are ESC and one byte; a backspace removes the byte before it.
static void clean(const char *bytes, size_t n, struct rb_buf *out)
{
    rb_buf_clear(out);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\b') {
            out->len -= out->len > 0;
        } else if (bytes[i] != '\033') {
            rb_buf_putc(out, bytes[i]);
        } else if (i + 1 < n && bytes[i + 1] == '[') {
            for (i += 2; i < n && !(bytes[i] >= '@' && bytes[i] <= '~');)
                i++;
        } else {
            i++;
        }
    }
}

static bool has_controls(const char *bytes, size_t n)
{
    return memchr(bytes, '\033', n) || memchr(bytes, '\b', n);
}

// Statistics of steps, and RB_PACED, are lines of name=value in every format.
static bool read_statistics(struct rb_metric_reader *r, const char *line, size_t n, rb_metric_fn *fn, void *ctx)
{
    struct rb_metric_line native;
    rb_metric_line_parse(line, n, r->config.unit, r->config.metric_name, &native);
    const bool may_report =
        (r->format == RB_METRIC_AUTO || r->format == RB_METRIC_NATIVE || r->format == RB_METRIC_JSON) &&
        !r->config.form->file;
    const int64_t resource = native.is_report && may_report
                                 ? resource_of(r, rb_metric_format_row(RB_METRIC_NATIVE), (double)native.resource)
                                 : -1;
    native.is_report = resource >= 0;
    native.resource = native.is_report ? resource : 0;
    if (native.is_report) {
        r->format = r->format == RB_METRIC_AUTO ? RB_METRIC_NATIVE : r->format;
        r->highest = resource > r->highest ? resource : r->highest;
    }
    if (!native.is_report && !native.paced && !native.steps.has_noise && native.steps.step_s <= 0)
        return false;
    fn(ctx, &native);
    return native.is_report || native.steps.has_noise;
}

bool rb_metric_reader_line(struct rb_metric_reader *r, const char *bytes, size_t n, rb_metric_fn *fn, void *ctx)
{
    if (has_controls(bytes, n)) {
        clean(bytes, n, &r->clean);
        bytes = rb_buf_str(&r->clean);
        n = r->clean.len;
    }
    if (read_statistics(r, bytes, n, fn, ctx))
        return true;
    return !r->config.form->file && read_line(r, bytes, n, fn, ctx);
}

// --- files ---

static bool is_table(enum rb_metric_format format)
{
    return format == RB_METRIC_CSV || format == RB_METRIC_LIGHTNING;
}

static void free_file(struct metric_file *file)
{
    free(file->name);
    rb_buf_finish(&file->line);
    rb_metric_table_finish(&file->table);
    rb_event_file_finish(&file->events);
}

// NULL: there are too many.
static struct metric_file *file_of(struct rb_metric_reader *r, const char *name)
{
    for (int i = 0; i < r->n_files; i++)
        if (strcmp(r->files[i].name, name) == 0)
            return &r->files[i];
    if (r->n_files == MOST_FILES)
        return NULL;
    r->files = rb_xrealloc(r->files, (size_t)r->n_files + 1, sizeof *r->files);
    r->files[r->n_files] = (struct metric_file){.name = rb_xstrdup(name)};
    return &r->files[r->n_files++];
}

static void file_line(struct rb_metric_reader *r, struct metric_file *file, rb_metric_fn *fn, void *ctx)
{
    const char *line = rb_buf_str(&file->line);
    if (!file->cut && is_table(r->config.form->format)) {
        struct finding f = {.r = r};
        rb_metric_table_line(&file->table, line, file->line.len, ',', r->config.unit, take, &f);
        report(&f, r->config.form->format, fn, ctx);
    } else if (!file->cut && file->line.len > 0) {
        read_line(r, line, file->line.len, fn, ctx);
    }
    rb_buf_clear(&file->line);
    file->cut = false;
}

struct scalars {
    struct rb_metric_reader *r;
    const char *run; // the folder of the event file, RUN of the metric's name RUN/TAG
    size_t run_len;
    rb_metric_fn *fn;
    void *ctx;
};

static void take_scalar(void *ctx, const char *tag, size_t tag_len, int64_t step, double value)
{
    const struct scalars *s = ctx;
    char name[256];
    if (s->run_len + 1 + tag_len >= sizeof name)
        return;
    memcpy(name, s->run, s->run_len);
    size_t n = s->run_len;
    if (n > 0)
        name[n++] = '/';
    memcpy(name + n, tag, tag_len);
    struct finding f = {.r = s->r, .has_resource = true, .resource = (double)step};
    take(&f, name, n + tag_len, value);
    report(&f, RB_METRIC_TENSORBOARD, s->fn, s->ctx);
}

void rb_metric_reader_file(struct rb_metric_reader *r, const char *name, const char *bytes, size_t n, rb_metric_fn *fn,
                           void *ctx)
{
    struct metric_file *file = file_of(r, name);
    if (!file)
        return;
    if (r->config.form->format == RB_METRIC_TENSORBOARD) {
        const char *slash = strrchr(name, '/');
        struct scalars s = {r, name, slash ? (size_t)(slash - name) : 0, fn, ctx};
        rb_event_file_take(&file->events, bytes, n, take_scalar, &s);
        return;
    }
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        const size_t part = newline ? (size_t)(newline - bytes) : n, room = RB_LIMIT_METRIC_LINE - file->line.len;
        file->cut = file->cut || part > room;
        rb_buf_append(&file->line, bytes, part < room ? part : room);
        if (newline)
            file_line(r, file, fn, ctx);
        bytes += part + (newline != NULL);
        n -= part + (newline != NULL);
    }
}

void rb_metric_reader_file_restart(struct rb_metric_reader *r, const char *name)
{
    struct metric_file *file = file_of(r, name);
    if (!file)
        return;
    struct metric_file fresh = {.name = rb_xstrdup(name)};
    free_file(file);
    *file = fresh;
}

void rb_metric_reader_end(struct rb_metric_reader *r, rb_metric_fn *fn, void *ctx)
{
    for (int i = 0; i < r->n_files; i++)
        if (r->files[i].line.len > 0)
            file_line(r, &r->files[i], fn, ctx);
}

// --- the whole ---

struct rb_metric_reader *rb_metric_reader_new(const struct rb_metric_reader_config *config)
{
    struct rb_metric_reader *r = rb_xcalloc(1, sizeof *r);
    r->config = *config;
    r->format = config->form->patterns.n > 0 ? RB_METRIC_PATTERN : config->form->format;
    r->highest = -1;
    return r;
}

void rb_metric_reader_free(struct rb_metric_reader *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_files; i++)
        free_file(&r->files[i]);
    free(r->files);
    rb_format_state_finish(&r->state);
    rb_buf_finish(&r->clean);
    free(r);
}

char *rb_metric_reader_seen(const struct rb_metric_reader *r, char *out, size_t size)
{
    int n = snprintf(out, size, r->n_seen > 0 ? "metrics seen:" : "no metric was recognised in its output");
    for (int i = 0; i < r->n_seen && n > 0 && (size_t)n < size; i++)
        n += snprintf(out + n, size - (size_t)n, "%s %s", i > 0 ? "," : "", r->seen[i]);
    if (r->highest >= 0 && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "; highest %s: %lld", r->config.unit, (long long)r->highest);
    return out;
}
