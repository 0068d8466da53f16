// Writes requests of the EC2 Query API (version 2016-11-15) as form bodies. Pure: no network, no clock.
#ifndef RB_PROVIDERS_EC2_ENCODE_H
#define RB_PROVIDERS_EC2_ENCODE_H

#include "base/text/buf.h"
#include "providers/provider.h"

#define RB_EC2_MAX_TYPES  100 // instance types in one request, EC2's limit
#define RB_EC2_MAX_TAGGED 1000 // resources in one CreateTags, likewise

// Can EC2 be asked for this at all? INVALID: token, user-data, missing image, ...
bool rb_ec2_check_launch(const struct rb_launch *l, struct rb_err *err);
// As many instances as the launch counts, all or nothing. image_id: l's, or the default. root_device: what disk_gb is
// the size of; NULL if 0.
void rb_ec2_encode_run(const struct rb_launch *l, const char *image_id, const char *root_device, struct rb_buf *out);
// run_id NULL: every instance with our owner tag. page NULL: the first.
void rb_ec2_encode_list(const char *run_id, const char *page, struct rb_buf *out);
void rb_ec2_encode_look(const char *id, struct rb_buf *out);
void rb_ec2_encode_terminate(const char *id, struct rb_buf *out);
// CreateTags replaces the value of an existing tag.
void rb_ec2_encode_tag(const char *const *ids, int n, const struct rb_tag *tag, struct rb_buf *out);
void rb_ec2_encode_image(const char *image_id, struct rb_buf *out);
// A cluster group with the launch's name and the run's tags (not those of the single launch).
void rb_ec2_encode_create_group(const struct rb_launch *l, struct rb_buf *out);
void rb_ec2_encode_groups(const char *run_id, struct rb_buf *out); // as rb_ec2_encode_list; EC2 has no pages of them
void rb_ec2_encode_delete_group(const char *name, struct rb_buf *out);
// n 0: all types.
void rb_ec2_encode_machines(const char *const *types, int n, const char *page, struct rb_buf *out);
// The prices in force at that instant, per type and zone.
void rb_ec2_encode_spot_prices(const char *const *types, int n, int64_t unix_us, const char *page, struct rb_buf *out);

void rb_ec2_encode_reservations(const char *page, struct rb_buf *out);

#endif
