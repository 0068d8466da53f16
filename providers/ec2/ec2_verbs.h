// Inside the provider of EC2 only: its state, its verbs (as provider.h has them; one file each, which says how), and
// what they share.
#ifndef RB_PROVIDERS_EC2_VERBS_H
#define RB_PROVIDERS_EC2_VERBS_H

#include "providers/aws/aws_client.h"
#include "providers/listing.h"
#include "providers/provider.h"

// Services of AWS besides EC2 itself.
enum rb_ec2_service { RB_EC2_SSM, RB_EC2_PRICE_LIST, RB_EC2_SERVICE_QUOTAS, RB_EC2_N_SERVICES };

struct rb_ec2 {
    const struct rb_loop *loop;
    struct rb_aws_client *client;
    struct rb_aws_client_config config;                // of the clients of other services; its region is ours
    struct rb_aws_client *services[RB_EC2_N_SERVICES]; // NULL: not needed so far
    char infra[80], region[64];
    char group[256];       // placement group known to be there; "": none
    char (*never_ran)[32]; // [n_never_ran] instances that were pending when they were ended: nothing is billed for them
    int n_never_ran;
};

// The client of that service, created when it is needed for the first time. NULL: *err says why there is none.
struct rb_aws_client *rb_ec2_service(struct rb_ec2 *ec2, enum rb_ec2_service service, struct rb_err *err);
// The image of a launch: its own, or of a mock cloud any. NULL: none, which is an error.
const char *rb_ec2_image_of(const struct rb_ec2 *ec2, const struct rb_launch *what, struct rb_err *err);

void rb_ec2_preflight(struct rb_provider *p, const struct rb_launch *what, rb_preflight_fn *fn, void *arg);
void rb_ec2_quotas(struct rb_provider *p, const struct rb_demand *demands, int n, rb_quotas_fn *fn, void *arg);
void rb_ec2_renew(struct rb_provider *p, const char *const *ids, int n, const struct rb_tag *lease, rb_terminate_fn *fn,
                  void *arg);
void rb_ec2_groups(struct rb_provider *p, const char *run_id, rb_groups_fn *fn, void *arg);
void rb_ec2_end_group(struct rb_provider *p, const char *name, rb_terminate_fn *fn, void *arg);
void rb_ec2_regions(struct rb_provider *p, rb_regions_fn *fn, void *arg);
void rb_ec2_offers(struct rb_provider *p, const char *const *types, int n_types, rb_offers_fn *fn, void *arg);
void rb_ec2_spot_history(struct rb_provider *p, const char *const *types, int n_types, int64_t from_unix_us,
                         rb_spot_history_fn *fn, void *arg);
void rb_ec2_reservations(struct rb_provider *p, rb_reservations_fn *fn, void *arg);

// Creates the group that the launch names; an existing one is fine. Calls back once, from the loop; drop: instead of fn,
// when the client goes.
void rb_ec2_make_group(struct rb_ec2 *ec2, const struct rb_launch *launch, rb_terminate_fn *fn, rb_loop_fn *drop,
                       void *arg);

// --- public parameters of Systems Manager, under whose names images are published ---

// The parameter that names an image ("resolve:ssm:/aws/service/..", or the path alone); NULL: it is an image id.
const char *rb_ssm_parameter_of(const char *image);

typedef void rb_ssm_fn(void *arg, const struct rb_err *err, const char *value); // value borrowed for the call
// NOT_FOUND: there is no such parameter in this region.
void rb_ssm_get(struct rb_aws_client *ssm, const char *parameter, rb_ssm_fn *fn, void *arg);

#endif
