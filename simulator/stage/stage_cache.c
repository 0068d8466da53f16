#include "simulator/stage/stage_cache.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256 // doubles when three quarters full

// FNV-1a over eight bytes at a time, mixed once more at the end.
static uint64_t hash_of(const struct rb_stage_key *key)
{
    uint64_t words[sizeof *key / sizeof(uint64_t)], hash = UINT64_C(0xcbf29ce484222325);
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3) ^ hash >> 29;
    return (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct rb_stage_cache_entry **find(struct rb_stage_cache_entry **slots, size_t n_slots,
                                          const struct rb_stage_key *key)
{
    size_t i = (size_t)(hash_of(key) >> 32) & (n_slots - 1);
    while (slots[i] && memcmp(&slots[i]->key, key, sizeof *key) != 0)
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static void grow(struct rb_stage_cache *cache)
{
    size_t n_slots = cache->n_slots ? 2 * cache->n_slots : FIRST_SLOTS;
    struct rb_stage_cache_entry **slots = rb_xcalloc(n_slots, sizeof(struct rb_stage_cache_entry *));
    for (size_t i = 0; i < cache->n_slots; i++) {
        if (cache->slots[i])
            *find(slots, n_slots, &cache->slots[i]->key) = cache->slots[i];
    }
    free(cache->slots);
    cache->slots = slots;
    cache->n_slots = n_slots;
}

void rb_stage_cache_finish(struct rb_stage_cache *cache)
{
    free(cache->slots);
    *cache = (struct rb_stage_cache){0};
}

struct rb_stage_cache_entry *rb_stage_cache_find(struct rb_stage_cache *cache, const struct rb_stage_key *key,
                                                 struct rb_arena *arena)
{
    _Static_assert(sizeof *key % sizeof(uint64_t) == 0, "hashed word by word");
    if (4 * (cache->n_used + 1) > 3 * cache->n_slots)
        grow(cache);
    struct rb_stage_cache_entry **slot = find(cache->slots, cache->n_slots, key);
    if (!*slot) {
        *slot = rb_arena_alloc(arena, sizeof **slot);
        (*slot)->key = *key;
        cache->n_used++;
    }
    return *slot;
}

const struct rb_stage_cache_entry *rb_stage_cache_look(const struct rb_stage_cache *cache,
                                                       const struct rb_stage_key *key)
{
    return cache->n_slots ? *find(cache->slots, cache->n_slots, key) : NULL;
}
