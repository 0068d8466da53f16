// One dry run per infra and instance type, all at once on a loop of its own: the session's loop begins with the
// journal, and a user who is refused here should not find a run that never began.
#include "executor/run/preflight.h"

#include "executor/images/pins.h"
#include "executor/journal/run_files.h"
#include "executor/run/infras.h"

#include "base/errors/log.h"
#include "executor/transport/loop_uv.h"
#include "profiles/catalog/cpu_slots.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/job_image.h"
#include "providers/provider.h"
#include "providers/wire/digest.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct question {
    struct preflight *preflight;
    int infra;
    bool stands_in;
    char instance_type[64], image[256];
    struct rb_err err; // NONE: allowed
};

struct preflight {
    struct rb_plan *plan;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    char infras[RB_RUN_INFRAS][64];
    struct rb_provider providers[RB_RUN_INFRAS];
    int n_infras, n_providers;
    struct question *questions; // [n_questions], in the order of the plan's offers
    int n_questions, n_waiting;
};

static void answered(void *arg, const struct rb_err *err, const char *image)
{
    struct question *q = arg;
    if (err)
        q->err = *err;
    else if (image)
        snprintf(q->image, sizeof q->image, "%s", image);
    if (--q->preflight->n_waiting == 0)
        rb_loop_uv_stop(q->preflight->uv);
}

// With a token of its own, and tags like a launch: policies may require them.
static void ask(struct preflight *p, struct question *q, const struct rb_offer *offer)
{
    const struct rb_resources *r = &p->plan->job->resources;
    struct rb_provider *provider = &p->providers[q->infra];
    char owner[160], token[33];
    uint8_t bytes[16];
    rb_random_bytes(bytes, sizeof bytes);
    rb_digest_hex(bytes, sizeof bytes, token);
    rb_run_owner(owner, sizeof owner);
    struct rb_launch launch = {
        .token = token,
        .region = strchr(p->infras[q->infra], '/') + 1,
        .instance_type = q->instance_type,
        .gpus = offer->accelerator && rb_accelerator_is_cpu(offer->accelerator) ? 0 : offer->gpus, // a wish list has none
        .market = offer->market,
        .reservation = offer->reservation,
        .zone = offer->reservation ? strrchr(offer->infra, '/') + 1 : NULL,
        .image_id = rb_image_for(p->plan->images, p->plan->n_images, p->infras[q->infra]),
        .tags = {.run_id = "preflight", .launch_id = token, .owner = owner},
    };
    rb_launch_take(&launch, r);
    p->n_waiting++;
    provider->ops->preflight(provider, &launch, answered, q);
}

static bool open_provider(struct preflight *p, int i, struct rb_err *err)
{
    const struct rb_provider_ops *ops;
    char region[64];
    if (!rb_provider_find(p->infras[i], &ops, region, err))
        return false;
    const struct rb_provider_config config = {
        .loop = rb_loop_uv_loop(p->uv),
        .http = p->http,
        .resources = &p->plan->job->resources,
    };
    p->n_providers++; // a state of NULL is destroyed as well
    p->providers[i] = (struct rb_provider){.ops = ops};
    return !ops->preflight || rb_infra_open(p->infras[i], &config, &p->providers[i], err);
}

static bool open_all(struct preflight *p, struct rb_err *err)
{
    p->n_infras = rb_run_infras(p->plan, p->infras, RB_RUN_INFRAS);
    p->uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(p->uv), &p->http, err))
        return false;
    for (int i = 0; i < p->n_infras; i++)
        if (!open_provider(p, i, err))
            return false;
    return true;
}

static int infra_of(const struct preflight *p, const struct rb_offer *offer)
{
    for (int i = 0; i < p->n_infras; i++)
        if (rb_infra_within(offer->infra, p->infras[i]))
            return i;
    return -1;
}

// Do both offers need only one question?
static bool same_question(const struct preflight *p, const struct rb_offer *a, const struct rb_offer *b)
{
    return infra_of(p, a) == infra_of(p, b) && a->market == b->market &&
           strcmp(a->instance_type, b->instance_type) == 0;
}

// A plan without stages is a wish list (rbrun doctor): it wants all of it.
static bool only_stands_in(const struct preflight *p, int offer)
{
    const struct rb_plan *plan = p->plan;
    for (int s = 0; s < plan->n_stages; s++) {
        const struct rb_plan_stage *stage = &plan->stages[s];
        for (int i = 0; i < stage->n_nodes; i++)
            if (same_question(p, &plan->offers[stage->nodes[i].offer], &plan->offers[offer]))
                return false;
        for (int i = 0; i < stage->n_early; i++)
            if (same_question(p, &plan->offers[stage->early[i].offer], &plan->offers[offer]))
                return false;
    }
    return plan->n_stages > 0;
}

// The question includes the market: spot needs permissions of its own.
static void ask_all(struct preflight *p)
{
    p->questions = rb_xcalloc((size_t)p->plan->n_offers + 1, sizeof *p->questions);
    for (int i = 0; i < p->plan->n_offers; i++) {
        const struct rb_offer *offer = &p->plan->offers[i];
        const int infra = infra_of(p, offer);
        bool known = infra < 0 || !p->providers[infra].ops->preflight;
        for (int k = 0; k < i && !known; k++)
            known = same_question(p, &p->plan->offers[k], offer);
        if (known)
            continue;
        struct question *q = &p->questions[p->n_questions++];
        *q = (struct question){.preflight = p, .infra = infra, .stands_in = only_stands_in(p, i)};
        snprintf(q->instance_type, sizeof q->instance_type, "%s", offer->instance_type);
        ask(p, q, offer);
    }
    if (p->n_waiting > 0)
        rb_loop_uv_run(p->uv);
}

// The image behind a parameter differs from region to region: one entry per infra, before the old ones.
static bool pin(struct preflight *p, struct rb_arena *arena)
{
    struct rb_plan *plan = p->plan;
    struct rb_key_value *images = rb_arena_array(arena, (size_t)(plan->n_images + p->n_infras), sizeof *images);
    int n = 0;
    for (int i = 0; i < p->n_infras; i++) {
        const char *old = rb_image_for(plan->images, plan->n_images, p->infras[i]), *now = NULL;
        for (int k = 0; k < p->n_questions && !now; k++)
            now = p->questions[k].infra == i && p->questions[k].image[0] ? p->questions[k].image : NULL;
        if (old && now && strcmp(old, now) != 0)
            images[n++] = (struct rb_key_value){rb_arena_strdup(arena, p->infras[i]), rb_arena_strdup(arena, now)};
    }
    const bool any = n > 0;
    for (int i = 0; i < plan->n_images && any; i++) {
        bool replaced = false;
        for (int k = 0; k < n; k++)
            replaced = replaced || strcmp(images[k].key, plan->images[i].key) == 0;
        if (!replaced)
            images[n++] = plan->images[i];
    }
    if (any) {
        plan->images = images;
        plan->n_images = n;
    }
    return any;
}

static void finish(struct preflight *p)
{
    for (int i = 0; i < p->n_providers; i++)
        if (p->providers[i].state)
            p->providers[i].ops->destroy(&p->providers[i]);
    rb_http_destroy(p->http);
    rb_loop_uv_destroy(p->uv);
    free(p->questions);
}

bool rb_run_preflight(struct rb_plan *plan, struct rb_arena *arena, rb_run_preflight_fn *fn, void *ctx,
                      bool *out_pinned, struct rb_err *err)
{
    RB_AUTO(finish) struct preflight p = {.plan = plan};
    if (!open_all(&p, err))
        return false;
    ask_all(&p);
    for (int i = 0; i < p.n_questions; i++) {
        const struct question *q = &p.questions[i];
        fn(ctx, p.infras[q->infra], q->instance_type, q->stands_in, q->err.code ? &q->err : NULL,
           q->image[0] ? q->image : NULL);
    }
    *out_pinned = pin(&p, arena);
    return true;
}

// --- before a run

static void judge_preflight(void *ctx, const char *infra, const char *instance_type, bool stands_in,
                            const struct rb_err *err, const char *image)
{
    struct rb_err *refusal = ctx;
    (void)image;
    if (!err || refusal->code)
        return;
    if (stands_in) {
        rb_warn("%s in %s cannot stand in when others are sold out: %s", instance_type, infra, err->message);
    } else if (err->code == RB_ERR_DENIED || err->code == RB_ERR_INVALID || err->code == RB_ERR_NOT_FOUND ||
               rb_err_number(err) == RB_E_UNREACHABLE) { // once begun, a run would retry
        *refusal = *err;
        rb_err_prefix(refusal, "%s in %s", instance_type, infra);
    } else {
        rb_warn("%s in %s: whether it may be launched could not be asked: %s", instance_type, infra, err->message);
    }
}

// The run's plan names the images that it will boot: a resumed run boots the same.
static void write_pinned(struct rb_run_files *f, struct rb_buf *out)
{
    struct rb_json j = {.out = out, .pretty = true};
    rb_plan_write(&f->plan, &j);
    rb_buf_putc(out, '\n');
    rb_digest_sha256(rb_buf_str(out), out->len, f->plan_sha256);
}

bool rb_run_preflight_files(struct rb_run_files *f, struct rb_buf *out_pinned, struct rb_err *err)
{
    struct rb_err refusal = {0};
    bool pinned, has_digests;
    if (!rb_pin_images(&f->plan, &f->arena, &has_digests, err) ||
        !rb_run_preflight(&f->plan, &f->arena, judge_preflight, &refusal, &pinned, err))
        return false;
    if (refusal.code) {
        *err = refusal;
        return false;
    }
    if (pinned || has_digests)
        write_pinned(f, out_pinned);
    return true;
}
