#include "executor/run/clouds.h"

#include "executor/controller/placement_group.h"
#include "executor/gc/groups.h"
#include "providers/wire/http.h"

#include <stdio.h>

enum {
    NEAR_BOOT_S = 120,
    FAR_BOOT_S = 900,
    QUEUE_BOOT_S = 7 * 86400, // in a queue waiting costs nothing; deadline or user decide when it is too long
};

static void add_place(struct rb_run_clouds *c, const struct rb_transport *transport, bool is_lent)
{
    const int i = c->n++;
    const struct rb_provider_ops *ops = c->providers[i].ops;
    const bool is_near = rb_infra_is_harmless(c->infras[i]);
    c->near = c->near && (is_near || is_lent); // asking this process costs nothing
    c->infra_names[i] = c->infras[i];
    c->places[i] = (struct rb_run_place){
        .infra = c->infras[i],
        .provider = &c->providers[i],
        .transport = transport,
        .gives_birth = transport->make_user_data && !is_lent,
        .boot_timeout_us = (ops->waits_in_queue || is_lent ? QUEUE_BOOT_S
                            : is_near                      ? NEAR_BOOT_S
                                                           : FAR_BOOT_S) *
                           RB_US_PER_S,
        .held_timeout_us = ops->waits_in_queue && !is_lent ? (is_near ? NEAR_BOOT_S : FAR_BOOT_S) * RB_US_PER_S : 0,
    };
}

static bool open_provider(struct rb_run_clouds *c, const struct rb_resources *resources, const struct rb_loop *loop,
                          struct rb_err *err)
{
    const char *infra = c->infras[c->n], *accelerator;
    char region[64];
    const struct rb_provider_ops *ops;
    if (!rb_provider_find(infra, &ops, region, err) ||
        (!ops->is_in_process && !c->http && !rb_http_create(loop, &c->http, err)))
        return false;
    const struct rb_provider_config config = {
        .loop = loop,
        .http = c->http,
        .local_slots = ops->is_in_process ? rb_local_slots(false, &accelerator) : 0,
        .resources = resources,
    };
    if (!rb_infra_open(infra, &config, &c->providers[c->n], err))
        return false;
    add_place(c, rb_transport_find(ops->transport), false);
    return true;
}

// Once for each way in which nodes are reached.
static bool prepare_births(struct rb_run_clouds *c, struct rb_err *err)
{
    for (int i = 0; i < c->n; i++) {
        const struct rb_transport *transport = c->places[i].transport;
        bool known = !transport->prepare;
        for (int j = 0; j < i; j++)
            known = known || c->places[j].transport == transport;
        if (!known && !transport->prepare(&c->birth, err))
            return false;
    }
    return true;
}

bool rb_run_clouds_open(struct rb_run_clouds *c, const struct rb_run_files *files, const struct rb_loop *loop,
                        const struct rb_provider *lender, const struct rb_transport *lent_by, struct rb_err *err)
{
    const struct rb_plan *plan = &files->plan;
    c->near = true;
    c->birth = (struct rb_birth){.job = plan->job,
                                 .run_id = files->run_id,
                                 .run_dir = files->dir,
                                 .hard_limit_min = RB_BIRTH_HARD_LIMIT_MIN};
    if (lender->ops) {
        snprintf(c->infras[0], sizeof c->infras[0], "%s", plan->offers[0].infra);
        c->providers[0] = *lender;
        add_place(c, lent_by, true);
        return prepare_births(c, err);
    }
    const int n = rb_run_infras(plan, c->infras, RB_RUN_INFRAS);
    while (c->n < n)
        if (!open_provider(c, &plan->job->resources, loop, err))
            return false;
    return prepare_births(c, err);
}

void rb_run_clouds_finish(struct rb_run_clouds *c)
{
    for (int i = 0; i < c->n; i++)
        c->providers[i].ops->destroy(&c->providers[i]);
    rb_http_destroy(c->http);
}

bool rb_run_clouds_make_user_data(void *ctx, const struct rb_run_place *place, struct rb_buf *out,
                                  char host_key[static 128], struct rb_err *err)
{
    const struct rb_run_clouds *c = ctx;
    return place->transport->make_user_data(&c->birth, out, host_key, err);
}

const struct rb_transport *rb_run_clouds_transport(const struct rb_run_clouds *c)
{
    for (int i = 1; i < c->n; i++)
        if (c->places[i].transport != c->places[0].transport)
            return NULL;
    return c->places[0].transport;
}

void rb_run_clouds_end_groups(struct rb_run_clouds *c, struct rb_loop_uv *uv, const struct rb_run_files *files)
{
    bool wanted = rb_placement_groups_wanted(&files->plan);
    for (int i = 0; i < c->n; i++)
        wanted = wanted || c->providers[i].ops->groups_every_run;
    if (wanted)
        rb_run_groups_delete(&(struct rb_run_groups){.uv = uv,
                                                     .providers = c->providers,
                                                     .infras = c->infra_names,
                                                     .n = c->n,
                                                     .run_id = files->run_id});
}
