// Any bytes as learning curves, as a table and as the events of a run: refused with a reason, or curves that rise in
// resource, of finite metrics, and an answer to every question.
#include "fuzz.h"

#include "base/limits.h"
#include "simulator/forecast/curves.h"

#include <math.h>
#include <stdlib.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_curve(const struct rb_curve_points *c)
{
    require(c->n >= 1 && c->source);
    for (int i = 0; i < c->n; i++) {
        require(isfinite(c->metric[i]) && c->resource[i] >= 1 && c->resource[i] <= RB_LIMIT_RESOURCE);
        require(i == 0 || c->resource[i] > c->resource[i - 1]);
    }
}

static void check(const char *name, const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_curves curves;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    if (rb_curves_parse(name, (const char *)bytes, n, &arena, &curves, &err)) {
        require(curves.n >= 1);
        for (int i = 0; i < curves.n; i++)
            check_curve(&curves.points[i]);
        for (int trial = 0; trial < 5; trial++)
            require(!isnan(rb_curves_metric(&curves, 0, trial, 1 + 3 * trial)));
    } else {
        require(err.code == RB_ERR_INVALID && err.message[0]);
    }
    rb_arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    check("curves.csv", bytes, n);
    check("events.jsonl", bytes, n);
    return 0;
}
