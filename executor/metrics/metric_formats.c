#include "executor/metrics/metric_formats.h"

#include "base/text/number.h"

#include <ctype.h>
#include <string.h>

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static const char *number_end(const char *p, const char *end)
{
    while (p < end && (isalnum((unsigned char)*p) || *p == '.' || *p == '-' || *p == '+'))
        p++;
    return p;
}

static void resource(rb_metric_value_fn *fn, void *ctx, double value)
{
    fn(ctx, RB_METRIC_RESOURCE, strlen(RB_METRIC_RESOURCE), value);
}

// --- native, json: executor/metrics/metric_line.h ---

static void read_native(struct rb_format_state *s, const char *line, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    (void)s;
    rb_metric_line_values(line, n, fn, ctx);
}

// --- hf: {'eval_loss': 0.31, 'epoch': 1.0}, with numbers in quotes in later versions, maybe behind a progress bar ---

static const char *quoted_end(const char *p, const char *end)
{
    const char quote = *p++;
    while (p < end && *p != quote)
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p : NULL;
}

static void read_hf(struct rb_format_state *s, const char *line, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    (void)s;
    const char *end = line + n, *p = memchr(line, '{', n);
    while (p && p < end && *p != '}') {
        p = skip_blanks(p + 1, end);
        const char *name = p + 1, *name_end = p < end && *p == '\'' ? quoted_end(p, end) : NULL;
        if (!name_end)
            return;
        p = skip_blanks(name_end + 1, end);
        if (p == end || *p != ':')
            return;
        p = skip_blanks(p + 1, end);
        const char *value = p, *value_end;
        if (p < end && *p == '\'') {
            value_end = quoted_end(p, end);
            if (!value_end)
                return;
            value++;
            p = value_end + 1;
        } else {
            p = value_end = number_end(p, end);
        }
        double number;
        if (rb_parse_printed(value, (size_t)(value_end - value), &number))
            fn(ctx, name, (size_t)(name_end - name), number);
        p = skip_blanks(p, end);
        if (p < end && *p != ',' && *p != '}')
            return;
    }
}

// --- keras: "Epoch 3/9", then "938/938 ... - accuracy: 0.97 - val_loss: 9.1e-04" ---

// "A/B" at p. Its end; NULL: it is something else.
static const char *read_ratio(const char *p, const char *end, double *a, double *b)
{
    const char *slash = p, *stop;
    while (slash < end && isdigit((unsigned char)*slash))
        slash++;
    if (slash == end || *slash != '/')
        return NULL;
    for (stop = slash + 1; stop < end && isdigit((unsigned char)*stop);)
        stop++;
    return rb_parse_printed(p, (size_t)(slash - p), a) && rb_parse_printed(slash + 1, (size_t)(stop - slash - 1), b)
               ? stop
               : NULL;
}

static void read_keras(struct rb_format_state *s, const char *line, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    static const char title[] = "Epoch ", between[] = " - ";
    const char *end = line + n, *p = skip_blanks(line, end);
    const size_t title_len = sizeof title - 1, between_len = sizeof between - 1;
    double done, all;
    if ((size_t)(end - p) > title_len && memcmp(p, title, title_len) == 0 &&
        read_ratio(p + title_len, end, &done, &all) && done >= 1 && done <= all) {
        s->has_keras_epoch = true;
        s->keras_epoch = done;
        return;
    }
    p = read_ratio(p, end, &done, &all);
    if (!p || done < all)
        return;
    // With epochs=1 Keras prints no line of the epoch: the bar that is full ends the first one.
    resource(fn, ctx, s->has_keras_epoch ? s->keras_epoch : 1);
    while ((p = memmem(p, (size_t)(end - p), between, between_len))) {
        const char *name = p + between_len, *colon = memchr(name, ':', (size_t)(end - name));
        p = name;
        if (!colon)
            return;
        const char *value = skip_blanks(colon + 1, end), *stop = number_end(value, end);
        double number;
        if (rb_parse_printed(value, (size_t)(stop - value), &number))
            fn(ctx, name, (size_t)(colon - name), number);
    }
}

// --- xgboost: "[2]\ttrain-auc:0.93\tvalidation-auc:0.91+0.01"; lightgbm: "[10]\tvalid_0's auc: 0.641154" ---

// "[2]" at the line's beginning: the number, and where the rest begins; NULL: it is something else.
static const char *read_round(const char *line, const char *end, double *round)
{
    const char *p = skip_blanks(line, end);
    if (p == end || *p != '[')
        return NULL;
    const char *stop = memchr(p, ']', (size_t)(end - p));
    return stop && rb_parse_printed(p + 1, (size_t)(stop - p - 1), round) ? stop + 1 : NULL;
}

// The deviation over folds, "+0.01", is left out.
static bool read_mean(const char *p, const char *end, double *out)
{
    const char *plus = p;
    while (plus < end && (*plus != '+' || plus == p || plus[-1] == 'e' || plus[-1] == 'E') && *plus != ' ')
        plus++;
    return rb_parse_printed(p, (size_t)(plus - p), out);
}

// Each value of a line of rounds: what lies between its separators.
typedef void round_value_fn(const char *p, const char *end, rb_metric_value_fn *fn, void *ctx);

static void read_rounds(const char *line, size_t n, const char *separators, round_value_fn *value,
                        rb_metric_value_fn *fn, void *ctx)
{
    double round;
    const char *end = line + n, *p = read_round(line, end, &round);
    if (!p)
        return;
    resource(fn, ctx, round);
    while (p < end) {
        const char *stop = p = skip_blanks(p, end);
        while (stop < end && !memchr(separators, *stop, strlen(separators)))
            stop++;
        value(p, stop, fn, ctx);
        p = stop;
    }
}

static void xgboost_value(const char *p, const char *end, rb_metric_value_fn *fn, void *ctx)
{
    double value;
    const char *colon = memrchr(p, ':', (size_t)(end - p));
    if (colon && read_mean(colon + 1, end, &value))
        fn(ctx, p, (size_t)(colon - p), value);
}

static void read_xgboost(struct rb_format_state *s, const char *line, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    (void)s;
    read_rounds(line, n, " \t", xgboost_value, fn, ctx);
}

// "valid_0's auc" is reported as valid_0-auc, and as auc: of several data sets the first counts.
static void lightgbm_value(const char *p, const char *end, rb_metric_value_fn *fn, void *ctx)
{
    static const char of[] = "'s ";
    double value;
    char name[128];
    const char *colon = memmem(p, (size_t)(end - p), ": ", 2);
    const char *owner = colon ? memmem(p, (size_t)(colon - p), of, 3) : NULL;
    if (!owner || (size_t)(colon - p) >= sizeof name || !read_mean(skip_blanks(colon + 1, end), end, &value))
        return;
    const size_t n_owner = (size_t)(owner - p), n_metric = (size_t)(colon - owner) - 3;
    memcpy(name, p, n_owner);
    name[n_owner] = '-';
    memcpy(name + n_owner + 1, owner + 3, n_metric);
    fn(ctx, name, n_owner + 1 + n_metric, value);
    fn(ctx, owner + 3, n_metric, value);
}

static void read_lightgbm(struct rb_format_state *s, const char *line, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    (void)s;
    read_rounds(line, n, "\t", lightgbm_value, fn, ctx);
}

// --- fastai: "epoch     train_loss  valid_loss  accuracy  time", then rows ---

static void read_fastai(struct rb_format_state *s, const char *line, size_t n, rb_metric_value_fn *fn, void *ctx)
{
    const char *end = line + n, *p = skip_blanks(line, end);
    // Only this header and rows that begin with a number: other lines of words are no tables.
    const bool is_header =
        end - p > 16 && memcmp(p, "epoch ", 6) == 0 && memmem(p, (size_t)(end - p), "train_loss", 10);
    if (is_header || (s->fastai.n_columns > 0 && p < end && isdigit((unsigned char)*p)))
        rb_metric_table_line(&s->fastai, p, (size_t)(end - p), ' ', "epoch", fn, ctx);
}

void rb_format_state_finish(struct rb_format_state *s)
{
    rb_metric_table_finish(&s->fastai);
}

const struct rb_metric_format_row rb_metric_format_rows[] = {
    {.format = RB_METRIC_NATIVE, .read = read_native, .base = 1, .is_automatic = true},
    // Trainer rounds to two digits, and the last steps of an epoch may be left out: 2.99 is the third epoch.
    {.format = RB_METRIC_HF, .read = read_hf, .base = 1, .tolerance = 0.02, .is_automatic = true},
    {.format = RB_METRIC_KERAS, .read = read_keras, .base = 1, .is_automatic = true},
    {.format = RB_METRIC_XGBOOST, .read = read_xgboost, .base = 0, .is_automatic = true},
    {.format = RB_METRIC_LIGHTGBM, .read = read_lightgbm, .base = 1, .is_automatic = true},
    {.format = RB_METRIC_FASTAI, .read = read_fastai, .base = 0, .is_automatic = true, .counts_each_start = true},
    {.format = RB_METRIC_JSON, .read = read_native, .base = 1},
    {.format = RB_METRIC_PATTERN, .base = 1},
    {.format = RB_METRIC_CSV, .base = 1},
    {.format = RB_METRIC_LIGHTNING, .base = 0},
    {.format = RB_METRIC_TENSORBOARD, .base = 1},
    {.format = RB_METRIC_AUTO, .base = 1},
};

const struct rb_metric_format_row *rb_metric_format_row(enum rb_metric_format format)
{
    const struct rb_metric_format_row *row = rb_metric_format_rows;
    while (row->format != format && row->format != RB_METRIC_AUTO)
        row++;
    return row;
}
