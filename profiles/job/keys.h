// Reads the keys of a map with their defaults and limits, by the grammar that job.yaml and rb-profile/1 share.
// A key that is absent takes its default; so does one that is `null` where the header says "optional".
#ifndef RB_PROFILES_KEYS_H
#define RB_PROFILES_KEYS_H

#include "base/arena.h"
#include "base/document/doc.h"

// Opens a map whose keys must all be among `keys` (ends with NULL). Unknown keys are reported before missing
// ones, so that a misspelt key is called misspelt.
bool rb_keys_begin(struct rb_map *m, const struct rb_node *node, const char *const *keys, struct rb_err *err);

// The key's node, or NULL where it is absent or null: for optional keys.
const struct rb_node *rb_keys_given(struct rb_map *m, const char *key);

// Required texts: at least one character; copied into `arena`.
bool rb_keys_need_text(struct rb_map *m, const char *key, struct rb_arena *arena, const char **out,
                       struct rb_err *err);
// Optional: out is `fallback` (may be NULL) where absent or null.
bool rb_keys_text(struct rb_map *m, const char *key, const char *fallback, struct rb_arena *arena,
                  const char **out, struct rb_err *err);

// With a default where absent.
bool rb_keys_int(struct rb_map *m, const char *key, int64_t min, int64_t max, int64_t fallback, int64_t *out,
                 struct rb_err *err);
bool rb_keys_count(struct rb_map *m, const char *key, int min, int max, int fallback, int *out,
                   struct rb_err *err);
bool rb_keys_double(struct rb_map *m, const char *key, double min, double max, double fallback, double *out,
                    struct rb_err *err);
bool rb_keys_choice(struct rb_map *m, const char *key, const char *const *names, int n, int fallback,
                    int *out, struct rb_err *err);

// Optional; `fallback` where absent or null. A duration is above 0 and at most RB_LIMIT_DURATION_S, a size
// above 0.
bool rb_keys_duration(struct rb_map *m, const char *key, int64_t fallback_us, int64_t *out_us,
                      struct rb_err *err);
bool rb_keys_size(struct rb_map *m, const char *key, int64_t fallback_bytes, int64_t *out_bytes,
                  struct rb_err *err);
bool rb_keys_money(struct rb_map *m, const char *key, int64_t fallback_uusd, int64_t *out_uusd,
                   struct rb_err *err);

// One text: at least one character.
bool rb_node_text(const struct rb_node *node, struct rb_arena *arena, const char **out, struct rb_err *err);

// Entries of a list of names that ends with NULL.
int rb_names_count(const char *const *names);

#endif
