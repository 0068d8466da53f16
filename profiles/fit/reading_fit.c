// From the times in which nodes fetched the data of their job to the time that the next node takes.
#include "profiles/store/samples.h"

#include <string.h>

static bool same_source(const struct rb_reading_sample *a, const struct rb_reading_sample *b)
{
    return strcmp(a->fetch, b->fetch) == 0 && strcmp(a->infra, b->infra) == 0 &&
           strcmp(a->instance_type, b->instance_type) == 0;
}

// Data grows: earlier times count as if the last size had been read, at the same bandwidth.
static bool fit_times(const struct rb_reading_sample *samples, int n, struct rb_arena *arena, struct rb_reading *out,
                      struct rb_err *err)
{
    const struct rb_reading_sample *last = &samples[n - 1];
    RB_AUTO(rb_auto_free) double *read_s = rb_xcalloc((size_t)n, sizeof *read_s);
    struct rb_dist_fit fit;
    for (int i = 0; i < n; i++)
        read_s[i] = samples[i].read_s * ((double)last->bytes / (double)samples[i].bytes);
    if (!rb_dist_fit_latency(read_s, n, arena, &fit, err))
        return rb_err_prefix(err, "data.fetch on %s %s", last->infra, last->instance_type);
    *out = (struct rb_reading){.fetch = last->fetch,
                               .infra = last->infra,
                               .instance_type = last->instance_type,
                               .bytes = last->bytes,
                               .read_s = fit.dist,
                               .nodes = n};
    return true;
}

bool rb_reading_fit(const struct rb_samples *s, struct rb_arena *arena, struct rb_fit_report *report, struct rb_err *err)
{
    struct rb_profile *p = &report->profile;
    struct rb_reading *all = rb_arena_array(arena, (size_t)(p->n_readings + s->n_readings), sizeof *all);
    for (int i = 0; i < p->n_readings; i++)
        all[i] = p->readings[i];
    for (int i = 0, n; i < s->n_readings; i += n) {
        for (n = 1; i + n < s->n_readings && same_source(&s->readings[i], &s->readings[i + n]);)
            n++;
        if (!fit_times(&s->readings[i], n, arena, &all[p->n_readings++], err))
            return false;
    }
    p->readings = all;
    return true;
}
