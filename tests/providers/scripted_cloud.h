// A provider against a server that plays a script: one question, one answer.
#ifndef RB_TESTS_PROVIDERS_SCRIPTED_CLOUD_H
#define RB_TESTS_PROVIDERS_SCRIPTED_CLOUD_H

#include "base/text/buf.h"
#include "providers/provider.h"
#include "scripted.h"

struct scripted_cloud {
    struct scripted s; // .err: of the answer
    struct rb_provider provider;
    char image[128];    // a preflight: the image to launch with
    struct rb_buf said; // quotas: "NAME wanted/limit (used) unit\n" each
};

// Every service of EC2's, or of Google's, is at the server.
void scripted_ec2_begin(struct scripted_cloud *w, const char *region, const struct step *steps, int n);
void scripted_gcp_begin(struct scripted_cloud *w, const struct step *steps, int n); // in us-central1
void scripted_cloud_end(struct scripted_cloud *w);

void scripted_preflight(struct scripted_cloud *w, const struct rb_launch *launch);
void scripted_quotas(struct scripted_cloud *w, const struct rb_demand *demands, int n);

#endif
