// The verbs of a provider as calls of the EC2 API. Each operation has one call under way at a time and owns what it has
// read so far; whether the call comes back or is dropped, the operation is freed exactly once.
#include "providers/ec2/ec2.h"

#include "base/clock.h"
#include "providers/aws/aws_endpoint.h"
#include "providers/aws/aws_identity.h"
#include "providers/aws/aws_errors.h"
#include "providers/ec2/ec2_decode.h"
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGE_TRIES = 5, DESCRIBE_TRIES = 3 };

static const char loopback_image[] = "ami-00000000000000000"; // a mock cloud does not boot it anyway

struct launch {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    struct rb_launch what;              // deep copy
    const char *image_id, *root_device; // root_device: only if a disk size is requested
    struct rb_instance *instances;      // [rb_launch_count(&what)]
    rb_launch_fn *fn;
    void *arg;
};

struct look {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    const char *id;
    struct rb_instance_page found; // that one
    rb_launch_fn *fn;
    void *arg;
};

struct ending {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    const char *id;
    rb_terminate_fn *fn;
    void *arg;
};

// --- what the verbs share ---

struct rb_aws_client *rb_ec2_service(struct rb_ec2 *ec2, enum rb_ec2_service service, struct rb_err *err)
{
    static const struct {
        const char *name, *target_prefix;
        const char *region; // that serves it for all; NULL: each its own
    } services[RB_EC2_N_SERVICES] = {
        [RB_EC2_SSM] = {"ssm", "AmazonSSM.", NULL},
        [RB_EC2_PRICE_LIST] = {"pricing", "AWSPriceListService.", "us-east-1"},
        [RB_EC2_SERVICE_QUOTAS] = {"servicequotas", "ServiceQuotasV20190624.", NULL},
    };
    struct rb_aws_client_config config = ec2->config;
    config.service = services[service].name;
    config.target_prefix = services[service].target_prefix;
    config.region = services[service].region ? services[service].region : ec2->region;
    config.judge = rb_aws_json_judge;
    if (!ec2->services[service] && !rb_aws_client_create(&config, &ec2->services[service], err))
        return NULL;
    return ec2->services[service];
}

const char *rb_ec2_image_of(const struct rb_ec2 *ec2, const struct rb_launch *what, struct rb_err *err)
{
    if (what->image_id || rb_aws_client_is_loopback(ec2->client))
        return what->image_id ? what->image_id : loopback_image;
    rb_err_set(err, RB_E_IMAGE, "%s: no image; give resources.image_id an entry such as {%s: ami-...}", ec2->infra,
               ec2->infra);
    return NULL;
}

// --- launch ---

static void launch_destroy(void *arg)
{
    struct launch *l = arg;
    rb_launch_wipe(&l->what);
    rb_api_state_free(l);
}

// A placement group that is not found is created again before the launch is repeated.
static void launch_done(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (err && err->code == RB_ERR_NOT_FOUND)
        l->ec2->group[0] = '\0';
    l->fn(l->arg, err, err ? NULL : l->instances);
    launch_destroy(l);
}

static bool decode_launch(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    return rb_ec2_decode_run(body, n, rb_launch_count(&l->what), l->ec2->region, &l->arena, l->instances, err);
}

static void run_instances(struct launch *l)
{
    struct rb_api_call call = rb_api_call_new("RunInstances", CHANGE_TRIES, l, decode_launch, launch_done);
    rb_ec2_encode_run(&l->what, l->image_id, l->root_device, &call.body);
    call.mutating = true;
    call.drop = launch_destroy;
    rb_aws_send(l->ec2->client, &call);
}

static bool decode_image(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct launch *l = arg;
    return rb_ec2_decode_image(body, n, l->image_id, &l->arena, &l->root_device, err);
}

static void image_known(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (err)
        launch_done(l, err);
    else
        run_instances(l);
}

// Only the image knows under which name its root disk is attached; another name would add a disk instead of sizing it.
static void describe_image(struct launch *l)
{
    struct rb_api_call call = rb_api_call_new("DescribeImages", DESCRIBE_TRIES, l, decode_image, image_known);
    rb_ec2_encode_image(l->image_id, &call.body);
    call.drop = launch_destroy;
    rb_aws_send(l->ec2->client, &call);
}

static void continue_launch(struct launch *l)
{
    if (l->what.disk_gb > 0)
        describe_image(l);
    else
        run_instances(l);
}

static void group_made(void *arg, const struct rb_err *err)
{
    struct launch *l = arg;
    if (err) {
        launch_done(l, err);
        return;
    }
    snprintf(l->ec2->group, sizeof l->ec2->group, "%s", l->what.placement_group);
    continue_launch(l);
}

static bool check_launch(struct launch *l, struct rb_err *err)
{
    if (!rb_ec2_check_launch(&l->what, err) || !(l->image_id = rb_ec2_image_of(l->ec2, &l->what, err)))
        return false;
    if (rb_ssm_parameter_of(l->image_id))
        return rb_err_set(err, RB_E_LAUNCH, "%s: image %s was not looked up before the launch", l->ec2->infra,
                          l->image_id); // its image may change between two tries
    if (l->what.region && strcmp(l->what.region, l->ec2->region) != 0)
        return rb_err_set(err, RB_E_REGION, "%s: asked to launch in region %s", l->ec2->infra, l->what.region);
    return true;
}

static void ec2_launch(struct rb_provider *p, const struct rb_launch *what, rb_launch_fn *fn, void *arg)
{
    struct rb_ec2 *ec2 = p->state;
    struct launch *l = rb_api_state_create(sizeof *l);
    l->ec2 = ec2;
    l->fn = fn;
    l->arg = arg;
    rb_launch_copy(&l->arena, what, &l->what);
    l->instances = rb_arena_array(&l->arena, (size_t)rb_launch_count(what), sizeof *l->instances);
    struct rb_err err = {0};
    if (!check_launch(l, &err)) {
        struct rb_api_call call = rb_api_call_new("RunInstances", 1, l, NULL, launch_done);
        call.drop = launch_destroy;
        rb_aws_refuse(ec2->client, &call, &err);
    } else if (l->what.placement_group && strcmp(l->what.placement_group, ec2->group) != 0) {
        rb_ec2_make_group(ec2, &l->what, group_made, launch_destroy, l);
    } else {
        continue_launch(l);
    }
}

// --- list and look ---

// EC2 gives every instance a launchTime. Those of which its answer to TerminateInstances said that they were pending
// have none for us; where that answer was lost, an instance counts as having run: unknown is never free.
static void forget_launch_times(const struct rb_ec2 *ec2, struct rb_instance_page *page)
{
    for (int i = 0; i < page->n; i++)
        for (int k = 0; k < ec2->n_never_ran; k++)
            if (strcmp(ec2->never_ran[k], page->instances[i].id) == 0)
                page->instances[i].running_at_us = -1;
}

static bool decode_page(void *cloud, const char *run_id, const char *body, size_t n, struct rb_arena *arena,
                        struct rb_instance_page *out, struct rb_err *err)
{
    (void)run_id; // the filter is exact
    const struct rb_ec2 *ec2 = cloud;
    if (!rb_ec2_decode_list(body, n, ec2->region, arena, out, err))
        return false;
    forget_launch_times(ec2, out);
    return true;
}

static void send_page(void *cloud, const char *run_id, const char *page, struct rb_api_call *call)
{
    const struct rb_ec2 *ec2 = cloud;
    rb_ec2_encode_list(run_id, page, &call->body);
    rb_aws_send(ec2->client, call);
}

static void ec2_list(struct rb_provider *p, const char *run_id, rb_list_fn *fn, void *arg)
{
    static const struct rb_list_source source = {"DescribeInstances", decode_page, send_page};
    rb_list_instances(&source, p->state, run_id, fn, arg);
}

// An answer without the instance is no answer: for an unknown id EC2 returns an error.
static bool decode_look(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct look *l = arg;
    if (!decode_page(l->ec2, NULL, body, n, &l->arena, &l->found, err))
        return false;
    return (l->found.n == 1 && strcmp(l->found.instances[0].id, l->id) == 0) ||
           rb_err_set(err, RB_E_ANSWER, "answer: expected instance %s, got %d others", l->id, l->found.n);
}

static void look_done(void *arg, const struct rb_err *err)
{
    struct look *l = arg;
    l->fn(l->arg, err, err ? NULL : &l->found.instances[0]);
    rb_api_state_free(l);
}

static void ec2_look(struct rb_provider *p, const char *id, rb_launch_fn *fn, void *arg)
{
    struct look *l = rb_api_state_create(sizeof *l);
    struct rb_api_call call = rb_api_call_new("DescribeInstances", DESCRIBE_TRIES, l, decode_look, look_done);
    l->ec2 = p->state;
    l->id = rb_arena_strdup(&l->arena, id);
    l->fn = fn;
    l->arg = arg;
    rb_ec2_encode_look(id, &call.body);
    rb_aws_send(l->ec2->client, &call);
}

// --- terminate ---

static void remember_never_ran(struct rb_ec2 *ec2, const char *id)
{
    ec2->never_ran = rb_xrealloc(ec2->never_ran, (size_t)ec2->n_never_ran + 1, sizeof *ec2->never_ran);
    snprintf(ec2->never_ran[ec2->n_never_ran++], sizeof *ec2->never_ran, "%s", id);
}

static bool decode_ending(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct ending *e = arg;
    bool never_ran;
    if (!rb_ec2_decode_terminate(body, n, e->id, &never_ran, err))
        return false;
    if (never_ran)
        remember_never_ran(e->ec2, e->id);
    return true;
}

static void ending_done(void *arg, const struct rb_err *err)
{
    struct ending *e = arg;
    e->fn(e->arg, err);
    rb_api_state_free(e);
}

// One id per call: a single bad id in a longer list would save all the others.
static void ec2_terminate(struct rb_provider *p, const char *id, rb_terminate_fn *fn, void *arg)
{
    struct ending *e = rb_api_state_create(sizeof *e);
    struct rb_api_call call = rb_api_call_new("TerminateInstances", CHANGE_TRIES, e, decode_ending, ending_done);
    e->ec2 = p->state;
    e->id = rb_arena_strdup(&e->arena, id);
    e->fn = fn;
    e->arg = arg;
    rb_ec2_encode_terminate(id, &call.body);
    call.mutating = true;
    rb_aws_send(e->ec2->client, &call);
}

// --- life ---

static int64_t ec2_clock_us(const struct rb_provider *p)
{
    const struct rb_ec2 *ec2 = p->state;
    return rb_aws_client_clock_us(ec2->client);
}

static int64_t ec2_credentials_end_us(const struct rb_provider *p)
{
    const struct rb_ec2 *ec2 = p->state;
    return rb_aws_client_ends_us(ec2->client);
}

static void ec2_destroy(struct rb_provider *p)
{
    struct rb_ec2 *ec2 = p->state;
    if (!ec2)
        return;
    rb_aws_client_destroy(ec2->client);
    for (int i = 0; i < RB_EC2_N_SERVICES; i++)
        rb_aws_client_destroy(ec2->services[i]);
    free(ec2->never_ran);
    free(ec2);
    p->state = NULL;
}

static bool is_on_loopback(const char *region, bool loopback_only)
{
    char endpoint[512];
    return rb_aws_endpoint("ec2", region, loopback_only, endpoint, sizeof endpoint, NULL) &&
           rb_http_is_loopback(endpoint);
}

static bool aws_is_harmless(const char *region)
{
    return is_on_loopback(region, false);
}

static bool mock_is_harmless(const char *region)
{
    return is_on_loopback(region, true);
}

static bool create(const struct rb_provider_config *config, const struct rb_provider_ops *ops, bool loopback_only,
                   struct rb_provider *out, struct rb_err *err)
{
    if (!config->http)
        return rb_err_set(err, RB_E_HTTP_REQUEST, "%s/%s: needs an HTTP client", ops->name, config->region);
    const struct rb_aws_client_config client = {
        .loop = config->loop,
        .http = config->http,
        .service = "ec2",
        .region = config->region,
        .loopback_only = loopback_only || config->loopback_only,
        .judge = rb_aws_query_judge,
    };
    struct rb_ec2 *ec2 = rb_xcalloc(1, sizeof *ec2);
    ec2->loop = config->loop;
    snprintf(ec2->region, sizeof ec2->region, "%s", config->region);
    ec2->config = client;
    ec2->config.region = ec2->region;
    snprintf(ec2->infra, sizeof ec2->infra, "%s/%s", ops->name, ec2->region);
    if (!rb_aws_client_create(&client, &ec2->client, err)) {
        free(ec2);
        return rb_err_prefix(err, "%s", ops->name);
    }
    *out = (struct rb_provider){.ops = ops, .state = ec2};
    return true;
}

static bool create_aws(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err)
{
    return create(config, &rb_provider_aws, false, out, err);
}

static bool create_mock(const struct rb_provider_config *config, struct rb_provider *out, struct rb_err *err)
{
    return create(config, &rb_provider_mock, true, out, err);
}

static bool aws_endpoint(const char *region, char *out, size_t size, struct rb_err *err)
{
    return rb_aws_endpoint("ec2", region, false, out, size, err);
}

static bool mock_endpoint(const char *region, char *out, size_t size, struct rb_err *err)
{
    return rb_aws_endpoint("ec2", region, true, out, size, err);
}

static bool find_credentials(char out_source[static 128], struct rb_err *err)
{
    struct rb_aws_identity identity;
    if (!rb_aws_identity_find(rb_clock_unix_us(), &identity, err))
        return false;
    snprintf(out_source, 128, "%s", identity.source);
    rb_aws_identity_wipe(&identity);
    return true;
}

// The common part of both.
#define EC2_OPS                                                                                                     \
    .grants_profiles = true,                                                                                        \
    .launches_gangs = true, .destroy = ec2_destroy, .launch = ec2_launch, .preflight = rb_ec2_preflight,            \
    .quotas = rb_ec2_quotas, .list = ec2_list, .look = ec2_look, .terminate = ec2_terminate, .renew = rb_ec2_renew, \
    .clock_us = ec2_clock_us, .groups = rb_ec2_groups, .end_group = rb_ec2_end_group, .regions = rb_ec2_regions,    \
    .offers = rb_ec2_offers, .reservations = rb_ec2_reservations, .spot_history = rb_ec2_spot_history,              \
    .find_credentials = find_credentials, .credentials_end_us = ec2_credentials_end_us

const struct rb_provider_ops rb_provider_aws = {
    .name = "aws",
    .summary = "Amazon EC2",
    .create = create_aws,
    .endpoint = aws_endpoint,
    .is_harmless = aws_is_harmless,
    EC2_OPS,
};

const struct rb_provider_ops rb_provider_mock = {
    .name = "mock",
    .summary = "a mock cloud on loopback (rbmock)",
    .priced_as = "aws",
    .create = create_mock,
    .endpoint = mock_endpoint,
    .is_harmless = mock_is_harmless,
    EC2_OPS,
};
