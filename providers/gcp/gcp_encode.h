// Writes requests of the Compute Engine API: targets (path and query) and bodies. Pure.
#ifndef RB_PROVIDERS_GCP_ENCODE_H
#define RB_PROVIDERS_GCP_ENCODE_H

#include "base/text/buf.h"
#include "providers/gcp/gcp_decode.h"
#include "providers/provider.h"

// A machine type as our price lists name it: "g2-standard-4", or for N1 with GPUs attached
// "n1-standard-8+nvidia-tesla-t4:2" (one where the count is left out).
struct rb_gcp_machine_type {
    char name[64], accelerator[64]; // accelerator "": none attached (it may still be part of the type)
    int n_accelerators;
};
bool rb_gcp_machine_type_parse(const char *instance_type, struct rb_gcp_machine_type *out, struct rb_err *err);

// Checks a launch as far as that is possible without a request: INVALID, with the key of the job file.
bool rb_gcp_check_launch(const struct rb_launch *l, const char *region, struct rb_err *err);

// What follows an endpoint's path, for rb_percent_put: project, zone, name.
#define RB_GCP_INSTANCE "/projects/%s/zones/%s/instances/%s"

// An instance, in the fields that rb_gcp_decode_instance reads.
void rb_gcp_target_look(const char *project, const char *zone, const char *name, struct rb_buf *out);
// The operations on the instance of that name. page NULL: the first.
void rb_gcp_target_history(const char *project, const char *zone, const char *name, const char *page,
                           struct rb_buf *out);
// The instances with that tag and value in all zones of the project; tag NULL: of any run. page NULL: the first.
void rb_gcp_target_list(const char *project, const char *tag, const char *value, const char *page, struct rb_buf *out);
// The reservations in all zones of the project. page NULL: the first.
void rb_gcp_target_reservations(const char *project, const char *page, struct rb_buf *out);
// The zones that sell a machine type, or the GPUs attached to it where it has any.
void rb_gcp_target_sold(const char *project, const struct rb_gcp_machine_type *type, struct rb_buf *out);

// The body of an insert. The launch is checked. Everything that makes it safe is part of the insert itself: labels, the
// end that the cloud brings about (DELETE after max_lifetime_s, and at preemption), disks that go with the machine.
// Tag "Name" becomes the description. user_data goes where an image with cloud-init looks for it (metadata `user-data`)
// if it begins with "#cloud-config", else to where every image of Google's looks (`startup-script`).
bool rb_gcp_encode_insert(const struct rb_launch *l, const char *zone, const char *name, struct rb_buf *out,
                          struct rb_err *err);
// The same for a gang, of which every member is called after it: all of them or none.
bool rb_gcp_encode_bulk_insert(const struct rb_launch *l, const char *zone, const char *gang, struct rb_buf *out,
                               struct rb_err *err);

// The labels that replace those of an instance: those it has, with the tag's in the place of older ones of that tag.
bool rb_gcp_encode_labels(const struct rb_gcp_labelled *now, const struct rb_tag *tag, struct rb_buf *out,
                          struct rb_err *err);

#endif
