// Places pods on machines. A pod takes the first machine with room for it; where there is none the cluster's autoscaler
// adds one, as long as capacity and pools allow, which takes queue_s. Idle machines go after release_s.
#include "base/limits.h"
#include "providers/mock/k8s/k8s_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TAINT            RB_K8S_GPU // of every machine with GPUs: NoSchedule
#define NOTICE_US        (120 * RB_US_PER_S)
#define SYSTEM_MILLI_CPU 100 // what a machine's own pods request

int64_t rb_k8s_draw_us(struct rb_mock_k8s *k, const struct rb_dist *d)
{
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = rb_cloud_config_of(k->cloud)->seed,
                                               .purpose = RB_DRAW_MOCK,
                                               .stage = 1000, // apart from the draws of instances
                                               .index = k->n_draws++});
    return rb_us_from_seconds(rb_dist_draw(d, &s));
}

static const struct rb_provisioning *provisioning_of(const struct rb_mock_k8s *k, const struct rb_offer *o)
{
    return rb_cloud_config_provisioning(rb_cloud_config_of(k->cloud), o);
}

// --- does a machine suit a pod? ---

static bool is_part(const struct rb_offer *o) // a row of the price list for some of a machine's GPUs: "T/2"
{
    return strchr(o->instance_type, '/') != NULL;
}

static const char *label_of(const struct rb_offer *o, const char *machine, const char *key)
{
    const bool spot = o->market == RB_MARKET_SPOT;
    const struct {
        const char *key, *value;
    } labels[] = {{"node.kubernetes.io/instance-type", o->instance_type},
                  {"kubernetes.io/hostname", machine},
                  {"kubernetes.io/os", "linux"},
                  {"kubernetes.io/arch", "amd64"},
                  {"nvidia.com/gpu.product", o->accelerator},
                  {"karpenter.sh/capacity-type", spot ? "spot" : "on-demand"}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strcmp(labels[i].key, key) == 0)
            return labels[i].value;
    return NULL;
}

static bool tolerates(const struct rb_k8s_pod *p, const struct rb_offer *o)
{
    if (strcmp(o->accelerator, "CPU") == 0)
        return true;
    for (const struct rb_node *t = rb_node_first(rb_node_member(p->spec, "tolerations")); t; t = t->next) {
        const char *key = rb_node_member_text(t, "key"), *effect = rb_node_member_text(t, "effect"),
                   *operator= rb_node_member_text(t, "operator");
        const bool exists = strcmp(operator, "Exists") == 0;
        const bool matches = exists
                                 ? !*key || strcmp(key, TAINT) == 0
                                 : strcmp(key, TAINT) == 0 && strcmp(rb_node_member_text(t, "value"), "present") == 0;
        if (matches && (!*effect || strcmp(effect, "NoSchedule") == 0))
            return true;
    }
    return false;
}

static int gpus_of(const struct rb_offer *o)
{
    return strcmp(o->accelerator, "CPU") == 0 ? 0 : o->gpus;
}

static bool fits(const struct rb_offer *o, int64_t gpus, int64_t milli_cpu, int64_t milli_memory)
{
    return gpus <= gpus_of(o) && (double)milli_cpu <= o->vcpus * 1000 - SYSTEM_MILLI_CPU &&
           (double)milli_memory / 1000 <= o->memory_gb * 1e9;
}

// An expression about a label that a machine lacks: only NotIn and DoesNotExist hold.
static bool holds_for(const struct rb_node *expression, const struct rb_offer *o, const char *machine)
{
    const char *operator= rb_node_member_text(expression, "operator"),
               *value = label_of(o, machine, rb_node_member_text(expression, "key"));
    bool is_in = false;
    for (const struct rb_node *v = rb_node_first(rb_node_member(expression, "values")); v && value; v = v->next)
        is_in |= strcmp(v->text, value) == 0;
    return strcmp(operator, "In") == 0       ? is_in
           : strcmp(operator, "NotIn") == 0  ? !is_in
           : strcmp(operator, "Exists") == 0 ? value != NULL
                                             : value == NULL;
}

// Terms are alternatives; all expressions of one must hold.
static bool likes(const struct rb_k8s_pod *p, const struct rb_offer *o, const char *machine)
{
    const struct rb_node *affinity = rb_node_member(rb_node_member(p->spec, "affinity"), "nodeAffinity"),
                         *required = rb_node_member(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
    for (const struct rb_node *term = rb_node_first(rb_node_member(required, "nodeSelectorTerms")); term;
         term = term->next) {
        bool all = true;
        for (const struct rb_node *e = rb_node_first(rb_node_member(term, "matchExpressions")); e; e = e->next)
            all &= holds_for(e, o, machine);
        if (all)
            return true;
    }
    return !required;
}

bool rb_k8s_suits(const struct rb_k8s_pod *p, const struct rb_offer *o, const char *machine)
{
    const struct rb_node *selector = rb_node_member(p->spec, "nodeSelector");
    for (const struct rb_node *s = selector ? selector->first : NULL; s; s = s->next) {
        const char *value = label_of(o, machine, s->key);
        if (!value || strcmp(value, s->text) != 0)
            return false;
    }
    return !is_part(o) && likes(p, o, machine) && tolerates(p, o) && fits(o, p->gpus, p->milli_cpu, p->milli_memory);
}

// It holds its share of the machine until its container has ended, deleted or not.
static bool holds(const struct rb_k8s_pod *p, const struct rb_k8s_machine *m)
{
    return p->machine == m && !rb_k8s_has_ended(p) && (!p->is_gone || p->has_process);
}

static bool has_room(const struct rb_mock_k8s *k, const struct rb_k8s_machine *m, const struct rb_k8s_pod *p)
{
    int64_t gpus = p->gpus, cpu = p->milli_cpu, memory = p->milli_memory;
    for (int i = 0; i < k->n_pods; i++)
        if (holds(k->pods[i], m)) {
            gpus += k->pods[i]->gpus;
            cpu += k->pods[i]->milli_cpu;
            memory += k->pods[i]->milli_memory;
        }
    return fits(m->offer, gpus, cpu, memory);
}

// --- how many machines may there be? ---

static const struct rb_capacity_step *step_at(const struct rb_cloud_pool *pool, int64_t age_us)
{
    const struct rb_capacity_step *current = NULL;
    for (int s = 0; s < pool->n_steps && pool->steps[s].at_us <= age_us; s++)
        current = &pool->steps[s];
    return current;
}

static int room_for(const struct rb_mock_k8s *k, const struct rb_offer *o, int64_t now_us)
{
    const struct rb_cloud_config *c = rb_cloud_config_of(k->cloud);
    int n_type = 0, room = RB_LIMIT_NODES;
    for (int i = 0; i < k->n_machines; i++)
        n_type += !k->machines[i]->is_gone && strcmp(k->machines[i]->offer->instance_type, o->instance_type) == 0;
    for (int i = 0; i < c->n_capacity; i++)
        if (strcmp(c->capacity[i].instance_type, o->instance_type) == 0 && c->capacity[i].max - n_type < room)
            room = c->capacity[i].max - n_type;
    for (int i = 0; i < c->limits.n_pools; i++) {
        const struct rb_cloud_pool *pool = &c->limits.pools[i];
        const struct rb_capacity_step *step = step_at(pool, now_us - c->epoch_us);
        int used = 0;
        for (int m = 0; m < k->n_machines; m++)
            used += !k->machines[m]->is_gone && rb_cloud_scope_holds(&pool->scope, k->machines[m]->offer);
        if (step && rb_cloud_scope_holds(&pool->scope, o) && step->up - used < room)
            room = step->up - used;
    }
    return room;
}

static struct rb_k8s_machine *add_machine(struct rb_mock_k8s *k, const struct rb_offer *o, int64_t now_us)
{
    struct rb_k8s_machine *m = rb_arena_alloc(&k->arena, sizeof *m);
    *m = (struct rb_k8s_machine){.name = rb_arena_printf(&k->arena, "node-%d", k->n_machines),
                                 .offer = o,
                                 .ready_us = now_us + rb_k8s_draw_us(k, &provisioning_of(k, o)->queue_s),
                                 .idle_us = now_us};
    k->machines = rb_grow(k->machines, k->n_machines, sizeof *k->machines);
    k->machines[k->n_machines++] = m;
    return m;
}

static struct rb_k8s_machine *find_machine(struct rb_mock_k8s *k, const struct rb_k8s_pod *p, int64_t now_us)
{
    for (int i = 0; i < k->n_machines; i++) {
        struct rb_k8s_machine *m = k->machines[i];
        if (!m->is_gone && !m->is_dead && rb_k8s_suits(p, m->offer, m->name) && has_room(k, m, p))
            return m;
    }
    const struct rb_offer *cheapest = NULL;
    const struct rb_catalog *c = &k->config->catalog;
    for (int i = 0; i < c->n_offers; i++)
        if (rb_k8s_suits(p, &c->offers[i], "") && room_for(k, &c->offers[i], now_us) > 0 &&
            (!cheapest || c->offers[i].rate.uusd_per_hour < cheapest->rate.uusd_per_hour))
            cheapest = &c->offers[i];
    return cheapest ? add_machine(k, cheapest, now_us) : NULL;
}

// --- placing ---

// The price of the pod: its own row of the price list, "T/2", or its share of the machine's. Without GPUs it is the
// whole machine: no list says what a part costs.
static const struct rb_offer *offer_for(struct rb_mock_k8s *k, const struct rb_k8s_pod *p,
                                        const struct rb_k8s_machine *m)
{
    const int all = gpus_of(m->offer);
    if (p->gpus == 0 || p->gpus == all)
        return m->offer;
    const char *name = rb_arena_printf(&k->arena, "%s/%lld", m->offer->instance_type, (long long)p->gpus);
    const struct rb_catalog *c = &k->config->catalog;
    for (int i = 0; i < c->n_offers; i++)
        if (strcmp(c->offers[i].instance_type, name) == 0 && c->offers[i].market == m->offer->market)
            return &c->offers[i];
    struct rb_offer *part = rb_arena_alloc(&k->arena, sizeof *part);
    *part = *m->offer;
    part->instance_type = name;
    part->gpus = (int)p->gpus;
    part->rate.uusd_per_hour = (m->offer->rate.uusd_per_hour * p->gpus + all - 1) / all; // rounded up, as all prices
    return part;
}

static void meet_fate(struct rb_mock_k8s *k, struct rb_k8s_pod *p, const struct rb_offer *o, int64_t now_us)
{
    const struct rb_chaos_subject s = {.front = "k8s",
                                       .region = k->config->name,
                                       .instance_type = o->instance_type,
                                       .has_market = true,
                                       .market = o->market};
    rb_chaos_instance(rb_cloud_chaos(k->cloud), &s, now_us, &p->fate);
    if (p->took_place)
        p->fate.by[RB_CHAOS_REPLACED] = NULL; // else there would be no end to it
    p->is_hopeless = p->fate.by[RB_CHAOS_FAILS_TO_START] != NULL;
}

static void place(struct rb_mock_k8s *k, struct rb_k8s_pod *p, int64_t now_us)
{
    const int n_before = k->n_machines;
    if (p->due_us[RB_K8S_DUE_SCHEDULED] != INT64_MAX || p->is_gated || p->is_gone || p->deletion_us >= 0)
        return;
    if (!p->machine && !p->is_hopeless)
        meet_fate(k, p, p->instance->offer, now_us);
    struct rb_k8s_machine *m = p->is_hopeless ? NULL : find_machine(k, p, now_us);
    if (!m) {
        rb_k8s_tell(k, p, "Warning", "FailedScheduling", now_us,
                    "0/%d nodes are available: %lld Insufficient nvidia.com/gpu. preemption: 0/%d nodes are available.",
                    k->n_machines, (long long)p->gpus, k->n_machines);
        rb_k8s_tell(k, p, "Normal", "NotTriggerScaleUp", now_us,
                    "pod didn't trigger scale-up: 1 max node group size reached");
        return;
    }
    p->machine = m;
    p->instance->offer = offer_for(k, p, m);
    p->instance->release_s = provisioning_of(k, m->offer)->release_s;
    p->due_us[RB_K8S_DUE_SCHEDULED] = m->ready_us > now_us ? m->ready_us : now_us;
    if (k->n_machines > n_before)
        rb_k8s_tell(k, p, "Normal", "TriggeredScaleUp", now_us, "pod triggered scale-up: [{%s 0->1 (max: 1000)}]",
                    m->offer->instance_type);
}

void rb_k8s_place_all(struct rb_mock_k8s *k, int64_t now_us)
{
    if (!k->needs_placing)
        return;
    k->needs_placing = false;
    for (int i = 0; i < k->n_pods; i++) {
        k->pods[i]->was_tried = true;
        if (!k->pods[i]->machine)
            place(k, k->pods[i], now_us);
    }
}

// --- machines that go ---

static bool is_idle(const struct rb_mock_k8s *k, const struct rb_k8s_machine *m)
{
    for (int i = 0; i < k->n_pods; i++)
        if (holds(k->pods[i], m))
            return false;
    return true;
}

// When it goes, if it stays idle; not before it has come.
static int64_t release_us(const struct rb_mock_k8s *k, const struct rb_k8s_machine *m)
{
    if (m->idle_us == INT64_MAX)
        return INT64_MAX;
    const int64_t since_us = m->idle_us > m->ready_us ? m->idle_us : m->ready_us;
    return since_us + k->config->release_us;
}

int64_t rb_k8s_next_machine_us(const struct rb_mock_k8s *k, int64_t after_us)
{
    const struct rb_cloud_config *c = rb_cloud_config_of(k->cloud);
    int64_t next_us = INT64_MAX;
    for (int i = 0; i < k->n_machines; i++)
        if (!k->machines[i]->is_gone && release_us(k, k->machines[i]) < next_us)
            next_us = release_us(k, k->machines[i]);
    for (int i = 0; i < c->limits.n_pools; i++)
        for (int s = 0; s < c->limits.pools[i].n_steps; s++) {
            const int64_t at_us = c->epoch_us + c->limits.pools[i].steps[s].at_us;
            if (at_us > after_us && at_us < next_us)
                next_us = at_us;
        }
    return next_us;
}

// The youngest spot machines that their pool has no room for any more, each with two minutes' notice at most.
static void shrink(struct rb_mock_k8s *k, int64_t now_us)
{
    for (int i = k->n_machines - 1; i >= 0; i--) {
        struct rb_k8s_machine *m = k->machines[i];
        if (m->is_gone || m->offer->market != RB_MARKET_SPOT || room_for(k, m->offer, now_us) >= 0)
            continue;
        m->is_gone = true;
        for (int p = 0; p < k->n_pods; p++)
            if (holds(k->pods[p], m)) {
                rb_k8s_disrupt(k->pods[p], "EvictionByEvictionAPI", "Eviction API: evicting", now_us);
                const int64_t own_us = k->pods[p]->grace_us;
                rb_k8s_delete_pod(k, k->pods[p], own_us < NOTICE_US ? own_us : NOTICE_US, now_us);
            }
    }
}

void rb_k8s_tend_machines(struct rb_mock_k8s *k, int64_t now_us)
{
    shrink(k, now_us);
    for (int i = 0; i < k->n_machines; i++) {
        struct rb_k8s_machine *m = k->machines[i];
        if (m->is_gone)
            continue;
        const bool idle = is_idle(k, m);
        if (idle && m->idle_us == INT64_MAX)
            m->idle_us = now_us;
        else if (!idle)
            m->idle_us = INT64_MAX;
        m->is_gone = now_us >= release_us(k, m);
        k->needs_placing |= m->is_gone;
    }
}
