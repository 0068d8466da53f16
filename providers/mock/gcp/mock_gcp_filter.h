// Evaluates the filters of Compute Engine's lists: the part of AIP-160 that clients use. Comparisons `field OP value`
// with =, !=, : (has; * as a wildcard, alone: is set), <, <=, >, >=; AND (or nothing) and OR between them, NOT and -
// before them, parentheses. Of the older syntax, `eq` and `ne` with the simple regular expressions that gcloud writes.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_FILTER_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_FILTER_H

#include "base/arena.h"

#include <stdbool.h>

// Text of an item's field; NULL: not set. `field` is one of the known ones.
typedef const char *rb_mock_gcp_field_fn(const void *item, const char *field, const void *context);

struct rb_mock_gcp_filter {
    const char *text;          // NULL: everything matches
    const char *const *known;  // NULL-terminated; an entry ending in '.' admits what begins with it ("labels.")
    struct rb_arena *arena;
    rb_mock_gcp_field_fn *field;
    const void *context;
};

// Is it of that form, with known fields? *out_bad is where it stops being so.
bool rb_mock_gcp_filter_check(const struct rb_mock_gcp_filter *f, const char **out_bad);
bool rb_mock_gcp_filter_matches(const struct rb_mock_gcp_filter *f, const void *item); // of one that was checked

#endif
