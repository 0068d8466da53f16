#include "planner/request/save_note.h"

#include "planner/async/endless.h"
#include "simulator/laws/trial_law.h"

#include <math.h>

// The longest stretch that a loss may cost, over the plan's stages on the offer. *out_saves: some stage has a save in its
// middle. false: no stage uses the offer.
static bool longest_stretch(const struct rb_search *search, const struct rb_candidate *plan, int offer, double *out_s,
                            bool *out_saves)
{
    bool used = false;
    *out_s = 0;
    *out_saves = false;
    for (int stage = 0; stage < plan->n_stages; stage++) {
        const struct rb_choice *c = &plan->stages[stage];
        struct rb_stretch stretch;
        if (c->offer != offer || !rb_stretch_of(search, stage, offer, c->gpus, &stretch))
            continue;
        used = true;
        *out_s = fmax(*out_s, stretch.s);
        *out_saves = *out_saves || stretch.n > 1;
    }
    return used;
}

static const char *seconds(double s, char out[static 32])
{
    return rb_format_duration(rb_us_from_seconds(s < 10 ? s : round(s)), out);
}

const char *rb_save_note(const struct rb_search *search, const struct rb_candidate *plan, int offer,
                         struct rb_arena *arena)
{
    const struct rb_scenario *s = search->scenario;
    const struct rb_sim_offer *o = &s->sim_offers[offer];
    const double startup_s = rb_dist_mean(&s->profile->startup_s);
    char every[32], save[32], lost[32], again[32];
    double stretch_s;
    bool saves;
    if (o->save_every_s <= 0 || !longest_stretch(search, plan, offer, &stretch_s, &saves))
        return NULL;
    seconds(o->save_every_s, every);
    seconds(rb_dist_mean(&s->profile->checkpoint_s), save);
    seconds(stretch_s - startup_s, lost);
    seconds(rb_queue_mean_s(o->provisioning) + rb_scenario_init_mean_s(s, offer) + startup_s, again);
    if (!saves)
        return rb_arena_printf(arena,
                               "trials on %s %s (%s) would save every %s, and none trains that long in one stage: a lost "
                               "machine costs its trials up to %s of training, and %s until they go on",
                               o->offer->infra, o->offer->instance_type, rb_market_name(o->offer->market), every, lost,
                               again);
    return rb_arena_printf(arena,
                           "trials on %s %s (%s) save every %s, which takes %s: a lost machine costs its trials up to %s of "
                           "training instead of their stage, and %s until they go on",
                           o->offer->infra, o->offer->instance_type, rb_market_name(o->offer->market), every, save, lost,
                           again);
}
