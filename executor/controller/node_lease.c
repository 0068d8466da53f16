// Leases of the nodes: one keeper for each cloud.
#include "executor/controller/controller_private.h"

static int64_t length_us(const struct rb_controller *c)
{
    return c->config.lease_us > 0 ? c->config.lease_us : RB_LEASE_S * RB_US_PER_S;
}

// Also instances that must end, until the cloud has accepted that: this run still takes care of them.
static void each_instance(void *ctx, void (*add)(void *to, const char *instance_id), void *to)
{
    const struct rb_run_cloud *cloud = ctx;
    const struct rb_controller *c = cloud->c;
    const struct rb_machine_row *machine = c->config.machine;
    // Where leases are objects, one for each run, the machine has its own, which its process renews.
    const bool has_its_own = c->config.places[cloud - c->clouds].provider->ops->groups_every_run;
    if (machine && !has_its_own && machine->ended_unix_us < 0 && &c->clouds[rb_controller_infra_of(c, machine->infra)] == cloud)
        add(to, machine->instance_id);
    for (int i = 0; i < rb_controller_n_launches(c) && c->phase != RB_PHASE_OVER; i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        const bool ending = n->row.state == RB_LAUNCH_TERMINATING && n->end != RB_END_ACCEPTED;
        if (rb_run_node_has_row(n) && n->row.instance_id[0] && (rb_run_node_exists(n) || ending) &&
            &c->clouds[rb_controller_infra_of(c, n->row.infra)] == cloud)
            add(to, n->row.instance_id);
    }
}

static void warn(void *ctx, const char *text)
{
    const struct rb_run_cloud *cloud = ctx;
    rb_controller_note(cloud->c, "warning", "%s", text);
}

void rb_run_cloud_begin_leases(struct rb_run_cloud *cloud)
{
    const struct rb_controller *c = cloud->c;
    const ptrdiff_t infra = cloud - c->clouds;
    cloud->leases = rb_lease_keeper_create(&(struct rb_lease_keeper_config){.loop = c->config.loop,
                                                                            .provider = c->config.places[infra].provider,
                                                                            .infra = c->config.places[infra].infra,
                                                                            .length_us = length_us(c),
                                                                            .each = each_instance,
                                                                            .warn = warn,
                                                                            .ctx = cloud});
}

// The same in every repetition of the request, so it is counted from the intent, by our clock.
int64_t rb_run_node_lease_us(const struct rb_run_node *n)
{
    return n->c->meta.started_unix_us + n->row.intent_us + length_us(n->c);
}

void rb_run_node_lease(const struct rb_run_node *n)
{
    const struct rb_controller *c = n->c;
    rb_lease_keeper_add(c->clouds[rb_controller_infra_of(c, n->row.infra)].leases, rb_run_node_lease_us(n));
}
