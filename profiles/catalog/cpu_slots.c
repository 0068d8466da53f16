#include "profiles/catalog/cpu_slots.h"

#include "base/limits.h"

#include <math.h>
#include <string.h>

#define BYTES_PER_GIB 1073741824.0 // price lists count memory in these

bool rb_accelerator_is_cpu(const char *accelerator)
{
    const size_t digits = strspn(accelerator, "0123456789");
    return strcmp(accelerator, "CPU") == 0 || (digits > 0 && strcmp(accelerator + digits, " CPUs") == 0);
}

void rb_offer_use_cpus(struct rb_offer *o, int cpus, int64_t memory_bytes, struct rb_arena *arena)
{
    if (cpus == 0)
        return;
    double slots = rb_accelerator_is_cpu(o->accelerator) ? floor(o->vcpus / cpus) : 0;
    if (memory_bytes > 0)
        slots = fmin(slots, floor(o->memory_gb * BYTES_PER_GIB / (double)memory_bytes));
    o->gpus = (int)fmin(slots, RB_LIMIT_GPUS_PER_NODE);
    if (o->gpus > 0)
        o->accelerator = cpus == 1 ? "CPU" : rb_arena_printf(arena, "%d CPUs", cpus);
}

void rb_catalog_use_cpus(struct rb_catalog *c, int cpus, int64_t memory_bytes, struct rb_arena *arena)
{
    struct rb_offer *kept = rb_arena_array(arena, (size_t)c->n_offers + 1, sizeof *kept);
    int n = 0;
    for (int i = 0; i < c->n_offers; i++) {
        kept[n] = c->offers[i];
        rb_offer_use_cpus(&kept[n], cpus, memory_bytes, arena);
        n += cpus == 0 || kept[n].gpus > 0;
    }
    c->offers = kept;
    c->n_offers = n;
}
