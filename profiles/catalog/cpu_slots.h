// A machine without GPUs, for a job whose trials need CPUs: the trials that fit on it at once take the place
// of its GPUs, as slots, so that planning, packing and running are those of GPUs. One slot holds one trial.
#ifndef RB_PROFILES_CPU_SLOTS_H
#define RB_PROFILES_CPU_SLOTS_H

#include "profiles/catalog/catalog.h"

// What a price list calls the accelerator of such a machine is "CPU"; as slots of several CPUs it is "4 CPUs".
// Profiles are kept by this name, so a time that was measured on 4 CPUs is never taken for one on 2.
bool rb_accelerator_is_cpu(const char *accelerator);

// Turns the offer into slots of `cpus` CPUs and `memory_bytes` (0: any memory will do) each, at most
// RB_LIMIT_GPUS_PER_NODE. None (gpus = 0) fit a machine with GPUs, one that is too small, or one whose CPUs or
// memory are not in the price list. Doing it twice changes nothing. cpus 0: the job needs GPUs, and the offer
// stays as it is.
void rb_offer_use_cpus(struct rb_offer *o, int cpus, int64_t memory_bytes, struct rb_arena *arena);

// Every offer of the catalog, those without slots left out.
void rb_catalog_use_cpus(struct rb_catalog *c, int cpus, int64_t memory_bytes, struct rb_arena *arena);

#endif
