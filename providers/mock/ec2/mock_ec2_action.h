// What the actions of the EC2 front share: the call they serve, refusing it, reading common parameters, filters, pages.
#ifndef RB_PROVIDERS_MOCK_EC2_ACTION_H
#define RB_PROVIDERS_MOCK_EC2_ACTION_H

#include "base/arena.h"
#include "providers/mock/cloud/page.h"
#include "providers/mock/ec2/glob.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/ec2/mock_ec2_auth.h"
#include "providers/mock/ec2/mock_ec2_form.h"

struct rb_mock_call {
    struct rb_cloud *cloud;
    struct rb_form *form;
    struct rb_arena *arena;  // lives as long as the call
    const char *region;
    int64_t now_us;
    struct rb_buf *out;      // the content of <ActionResponse> after requestId
    struct rb_mock_refusal *refusal;
    struct rb_chaos_verdict chaos;
};

// An action reads all its parameters, calls rb_mock_call_checked, and only then changes anything.
// false: refused, *call->refusal says why, nothing was changed.
typedef bool rb_mock_action_fn(struct rb_mock_call *call);

rb_mock_action_fn rb_mock_run_instances, rb_mock_describe_instances, rb_mock_terminate_instances,
    rb_mock_create_placement_group, rb_mock_create_tags, rb_mock_delete_placement_group, rb_mock_delete_tags,
    rb_mock_describe_tags, rb_mock_describe_addresses, rb_mock_describe_availability_zones,
    rb_mock_describe_capacity_reservations, rb_mock_describe_images,
    rb_mock_describe_instance_attribute, rb_mock_describe_instance_credit_specifications,
    rb_mock_describe_instance_status, rb_mock_describe_instance_type_offerings, rb_mock_describe_instance_types,
    rb_mock_describe_placement_groups, rb_mock_describe_regions, rb_mock_describe_security_groups,
    rb_mock_describe_spot_price_history, rb_mock_describe_subnets, rb_mock_describe_volumes, rb_mock_describe_vpcs,
    rb_mock_modify_instance_attribute, rb_mock_monitor_instances, rb_mock_unmonitor_instances;

// All of RunInstances but the check for unknown parameters; strings live as long as the call.
bool rb_mock_read_launch(struct rb_mock_call *call, struct rb_cloud_launch *l);

// TagSpecification.N of resources of these kinds (NULL-terminated); the tags of `kept` ones go to *out, in the arena.
bool rb_mock_read_tags(struct rb_mock_call *call, const char *const *kinds, const char *kept,
                       const struct rb_cloud_tag **out, int *out_n);

// Returns false.
bool rb_mock_refuse(struct rb_mock_call *call, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
// Every parameter given has been asked for, and this is not a dry run; refuses otherwise.
bool rb_mock_call_checked(struct rb_mock_call *call);
// Only the first half: for actions that can say more about a dry run.
bool rb_mock_call_no_unknown(struct rb_mock_call *call);
bool rb_mock_call_is_dry_run(struct rb_mock_call *call, bool *out);
bool rb_mock_refuse_dry_run(struct rb_mock_call *call);

// An optional number within [min, max]; absent: *out stays.
bool rb_mock_read_int(struct rb_mock_call *call, const char *name, int64_t min, int64_t max, int64_t *out);
bool rb_mock_read_bool(struct rb_mock_call *call, const char *name, bool *out);
// At least one id, each of the form PREFIX-hex.
bool rb_mock_read_ids(struct rb_mock_call *call, const char *parameter, const char *prefix, const char *const **out,
                      int *out_n);
bool rb_mock_read_optional_ids(struct rb_mock_call *call, const char *const **out, int *out_n); // InstanceId.N, if any
bool rb_mock_well_formed_id(const char *id, const char *prefix);
// Is the text one of the n? An empty list means all.
bool rb_mock_is_among(const char *text, const char *const *list, int n);

// --- filters: Filter.N.Name, Filter.N.Value.M; values of one filter are alternatives, filters must all hold ---

struct rb_mock_filters {
    struct rb_mock_filter {
        const char *name;
        const char *const *values; // [n_values], may hold * and ?
        int n_values;
    } *filters;                    // [n]
    int n;
};

// `known` is NULL-terminated; an entry ending in ':' admits what begins with it ("tag:").
bool rb_mock_read_filters(struct rb_mock_call *call, const char *const *known, struct rb_mock_filters *out);

// The attributes of a thing for filters. A name may occur more than once: one of its values has to match.
struct rb_mock_fact {
    const char *name, *value; // value NULL: matches nothing
};
// Do all filters hold? facts end with a name that is NULL; "tag-key" and "tag:KEY" are matched with the tags.
bool rb_mock_filters_match(const struct rb_mock_filters *filters, const struct rb_mock_fact *facts,
                           const struct rb_cloud_tag *tags, int n_tags);

// --- pages: MaxResults, NextToken ---

bool rb_mock_read_page(struct rb_mock_call *call, int min_results, int max_results, struct rb_mock_page *out);
void rb_mock_write_next_token(struct rb_mock_call *call, const struct rb_mock_page *p);

#define RB_MOCK_ROOT_DEVICE "/dev/sda1" // the one disk that an instance has

// Are all of them instances of the region that listings know? Refuses otherwise.
bool rb_mock_check_listed(struct rb_mock_call *call, const char *const *ids, int n);
bool rb_mock_is_burstable(const char *instance_type);
void rb_mock_volume_id(const struct rb_cloud_instance *i, char out[static 24]); // of its root volume

void rb_mock_write_tag_set(struct rb_buf *out, const struct rb_cloud_tag *tags, int n);
void rb_mock_write_done(struct rb_mock_call *call); // <return>true</return>
void rb_mock_write_state(struct rb_buf *out, const char *name, enum rb_cloud_state state);
void rb_mock_write_groups(struct rb_mock_call *call, const struct rb_cloud_instance *i); // <groupSet>
// <item> of an instancesSet.
void rb_mock_write_instance(struct rb_mock_call *call, const struct rb_cloud_instance *i);

#endif
