// Any output and any file in any format: reports have a resource that counts, and splitting the file anywhere changes nothing.
// The first byte chooses the format, the second where the file is split.
#include "executor/metrics/metric_reader.h"
#include "profiles/job/metric_pattern.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *const patterns[] = {"step {resource}: {*} {val_acc}", "e {resource}", "{val_acc}%"};

struct sum {
    int n;
    int64_t resources;
};

static void count(void *ctx, const struct rb_metric_line *line)
{
    struct sum *s = ctx;
    if (!line->is_report)
        return;
    if (line->resource < 0 || line->resource > (INT64_C(1) << 53) + 8)
        abort();
    s->n++;
    s->resources += line->resource % 1000;
}

static struct rb_metric_reader *reader(const struct rb_report_form *form)
{
    return rb_metric_reader_new(
        &(struct rb_metric_reader_config){.form = form, .unit = "epoch", .metric_name = "val_acc", .start = 3});
}

static struct sum of_file(const struct rb_report_form *form, const char *bytes, size_t n, size_t split)
{
    struct sum s = {0};
    struct rb_metric_reader *r = reader(form);
    rb_metric_reader_file(r, "run/a", bytes, split, count, &s);
    rb_metric_reader_file(r, "run/a", bytes + split, n - split, count, &s);
    rb_metric_reader_end(r, count, &s);
    rb_metric_reader_free(r);
    return s;
}

static void as_output(const struct rb_report_form *form, const char *bytes, size_t n)
{
    char seen[64];
    struct sum s = {0};
    struct rb_metric_reader *r = reader(form);
    for (size_t at = 0; at <= n;) {
        const char *end = memchr(bytes + at, '\n', n - at);
        const size_t len = end ? (size_t)(end - bytes) - at : n - at;
        rb_metric_reader_line(r, bytes + at, len, count, &s);
        at += len + 1;
    }
    if (strlen(rb_metric_reader_seen(r, seen, sizeof seen)) >= sizeof seen)
        abort();
    rb_metric_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    const char *text = (const char *)bytes + 2;
    struct rb_report_form form = {.format = (enum rb_metric_format)(bytes[0] % (RB_METRIC_TENSORBOARD + 1)),
                                  .base = bytes[0] % 3 - 1};
    if (bytes[0] % (RB_METRIC_TENSORBOARD + 1) == RB_METRIC_AUTO && bytes[0] & 0x80)
        form.patterns.items = patterns, form.patterns.n = 3;
    n -= 2;
    as_output(&form, text, n);
    form.file = "f";
    const struct sum whole = of_file(&form, text, n, 0),
                     split = of_file(&form, text, n, n > 0 ? bytes[1] % (n + 1) : 0);
    if (whole.n != split.n || whole.resources != split.resources)
        abort();
    return 0;
}
