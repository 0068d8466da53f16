// Reads members of a request's JSON body strictly: errors are refused in Google's words, with the path of the field.
// All return false when the call was refused. Absent members leave *out as it was.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_BODY_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_BODY_H

#include "providers/mock/gcp/mock_gcp_call.h"

bool rb_gcp_refuse_node(struct rb_mock_gcp_call *call, const struct rb_err *err); // as base/doc found it
bool rb_gcp_refuse_field(struct rb_mock_gcp_call *call, const struct rb_node *node, const char *why);

bool rb_gcp_map_begin(struct rb_mock_gcp_call *call, struct rb_map *m, const struct rb_node *node);
bool rb_gcp_map_end(struct rb_mock_gcp_call *call, struct rb_map *m); // refuses unknown members
bool rb_gcp_need_text(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, const char **out);
bool rb_gcp_get_text(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, const char **out);
bool rb_gcp_get_bool(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, bool *out);
// An int64 may be a number or text.
bool rb_gcp_get_int(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, int64_t min, int64_t max,
                    int64_t *out);
bool rb_gcp_get_choice(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key, const char *const *names,
                       int n, const char **out);
// A map that Google's own clients always send, and that this mock cloud takes only empty.
bool rb_gcp_get_empty(struct rb_mock_gcp_call *call, struct rb_map *m, const char *key);
bool rb_gcp_is_list(struct rb_mock_gcp_call *call, const struct rb_node *node); // of an acceptable length

#endif
