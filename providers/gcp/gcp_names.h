// Encodes our identifiers in the alphabets that Compute Engine takes: names of instances, request ids, labels. All of
// them can be computed again from what the caller has, and decoded.
#ifndef RB_PROVIDERS_GCP_NAMES_H
#define RB_PROVIDERS_GCP_NAMES_H

#include "base/text/buf.h"
#include "base/document/doc.h"
#include "providers/provider.h"

enum { RB_GCP_NAME_BYTES = 64, RB_GCP_UUID_BYTES = 37 };

// The instance's name is what makes a launch idempotent: "rb-" and 128 bits of digest over token and zone (RFC 1035,
// 35 characters). Another zone or another token is another name; the same two are the same name for ever.
void rb_gcp_instance_name(const char *token, const char *zone, char out[static RB_GCP_NAME_BYTES]);
// Members of a gang are called after it: "-0", "-1" and so on behind its name, which no instance has then.
void rb_gcp_member_name(const char *gang, int member, char out[static RB_GCP_NAME_BYTES]);
// Which member an instance of that name is; 0 where it was launched alone.
int rb_gcp_member_of(const char *name);
// The request id of the insert of that name, or of all members of the gang.
void rb_gcp_request_id(const char *name, char out[static RB_GCP_UUID_BYTES]);

// An instance's id, "NAME.ZONE", as its internal DNS name begins: all that ending it takes.
char *rb_gcp_instance_id(struct rb_arena *arena, const char *name, const char *zone);
bool rb_gcp_instance_id_split(const char *id, struct rb_arena *arena, const char **out_name, const char **out_zone);

// Labels. Keys: rb:run-id, rb:launch-id, rb:owner, rb:expires-at become rb-run, rb-launch, rb-owner, rb-expires-at.
// Values: lower case letters, digits
// and '-' are written as they are, every other byte as '_' and two hexadecimal digits. A label holds 63 characters;
// what is longer continues in rb-run_2 and so on.
struct rb_gcp_label {
    char key[64], value[64];
};
enum { RB_GCP_MAX_LABELS = 16 }; // all parts of all tags that are labels
// Appends a tag's label, and those that continue it. INVALID: a tag that has no label, or a value beyond all parts.
bool rb_gcp_put_label(const struct rb_tag *tag, struct rb_gcp_label out[static RB_GCP_MAX_LABELS], int *n,
                      struct rb_err *err);
// All tags as labels; the name is none (see gcp_encode.h). Errors as above.
bool rb_gcp_labels(const struct rb_tags *tags, struct rb_gcp_label out[static RB_GCP_MAX_LABELS], int *out_n,
                   struct rb_err *err);
// The tag's value out of an answer's map of labels; NULL if there is none, or it is none of our making.
const char *rb_gcp_tag(const struct rb_node *labels, const char *tag_key, struct rb_arena *arena);
// Does the label hold that tag, or a part of it?
bool rb_gcp_is_label_of(const char *label_key, const char *tag_key);
// The filter of a listing: the first label of a tag ("labels.rb-run=..."), so that values which differ only behind
// its 63 characters pass as well. tag_key NULL: whatever has an owner ("labels.rb-owner:*").
void rb_gcp_filter(const char *tag_key, const char *value, struct rb_buf *out);

#endif
