// Selects parts of an answer: `fields=kind,items/*/instances(name,labels),nextPageToken`. Names are separated by
// commas, levels by /, parentheses hold several names of one level, * is any name. Source: Compute Engine, "Use partial
// responses".
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_FIELDS_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_FIELDS_H

#include "base/arena.h"
#include "base/text/buf.h"

#include <stdbool.h>

struct rb_mock_gcp_fields;

// Everything lives in the arena. false: not of that form; *out_bad is where it stops being so.
bool rb_mock_gcp_fields_parse(const char *text, struct rb_arena *arena, struct rb_mock_gcp_fields **out,
                              const char **out_bad);
// Puts what the selection leaves of the JSON text in its place.
void rb_mock_gcp_fields_select(const struct rb_mock_gcp_fields *fields, struct rb_buf *json);

#endif
