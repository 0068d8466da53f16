#include "engine/policies/widths_wanted.h"

#include "base/arena.h"

#include <limits.h>
#include <stdlib.h>

void rb_widths_wanted_finish(struct rb_widths_wanted *w)
{
    free(w->trials);
    *w = (struct rb_widths_wanted){0};
}

static struct rb_wanted_width *reserve(struct rb_widths_wanted *w, int trial)
{
    if (trial >= w->n) {
        const int n = trial >= 2 * w->n ? trial + 1 : 2 * w->n;
        w->trials = rb_xrealloc(w->trials, (size_t)n, sizeof *w->trials);
        for (; w->n < n; w->n++)
            w->trials[w->n] = (struct rb_wanted_width){.width = -1, .place = INT_MAX, .attempt = -1};
    }
    return &w->trials[trial];
}

void rb_widths_want(struct rb_widths_wanted *w, int trial, int width)
{
    reserve(w, trial)->width = width;
}

bool rb_widths_note_arrivals(struct rb_widths_wanted *w, const struct rb_engine *e, int *n_joined)
{
    bool any = false;
    int n;
    const int *waiting = rb_engine_waiting(e, &n);
    for (int i = 0; i < n; i++) {
        const struct rb_trial *t = rb_engine_trial(e, waiting[i]);
        struct rb_wanted_width *own = reserve(w, waiting[i]);
        if (n_joined && (own->attempt < 0 || own->stage != t->stage))
            n_joined[t->stage]++;
        any |= own->attempt != t->attempt || own->stage != t->stage;
        own->width = -1;
        own->stage = t->stage;
        own->attempt = t->attempt;
    }
    return any;
}

void rb_widths_note_place(struct rb_widths_wanted *w, int trial, int place)
{
    reserve(w, trial)->place = place;
}

int rb_widths_place(const struct rb_widths_wanted *w, int trial)
{
    return trial < w->n ? w->trials[trial].place : INT_MAX;
}

// A share on a GPU of its own counts as that GPU: the others may have left.
static bool can_be_had(const struct rb_engine *e, int trial, const struct rb_width *to)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    const bool shared = t->sharers > 1;
    const int more = to->gpus - (shared ? 0 : t->gpus);
    if (more <= 0)
        return true;
    return rb_live_idle_gpus(e) >= more && rb_engine_would_fit(e, trial, to->gpus);
}

void rb_widths_carry_out(struct rb_widths_wanted *w, const struct rb_live_widths *widths, const struct rb_engine *e,
                         int trial, const char *reason, struct rb_decisions *out)
{
    const struct rb_trial *t = rb_engine_trial(e, trial);
    struct rb_wanted_width *own = reserve(w, trial);
    if (own->width < 0 || t->next_gpus == 0 || t->resource >= t->resource_end)
        return;
    const struct rb_width *to = &widths->widths[own->width];
    if ((to->gpus == t->next_gpus && to->sharers == t->next_sharers) || !can_be_had(e, trial, to))
        return;
    rb_decide_width(out, trial, *to);
    out->reason = reason;
    own->width = -1;
}
