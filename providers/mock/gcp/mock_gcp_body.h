// Reads members of a request's JSON body strictly: errors are refused in Google's words, with the path of the field.
// All return false when the call was refused.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_BODY_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_BODY_H

#include "providers/mock/cloud/members.h"
#include "providers/mock/gcp/mock_gcp_call.h"

bool rb_gcp_refuse_node(struct rb_mock_gcp_call *call, const struct rb_err *err); // as base/doc found it
bool rb_gcp_refuse_field(struct rb_mock_gcp_call *call, const struct rb_node *node, const char *why);

// As rb_members_read; node NULL: nothing is read.
bool rb_gcp_members_read(struct rb_mock_gcp_call *call, const struct rb_node *node, const struct rb_member *members,
                         void *out);
bool rb_gcp_is_list(struct rb_mock_gcp_call *call, const struct rb_node *node); // of an acceptable length

#endif
