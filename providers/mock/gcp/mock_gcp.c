// From request to answer: the path's row in the table, who asks, the body, and the two envelopes (resource and error).
#include "providers/mock/gcp/mock_gcp.h"
#include "providers/mock/gcp/mock_gcp_batch.h"
#include "providers/mock/gcp/mock_gcp_call.h"
#include "providers/mock/gcp/mock_gcp_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX           "/compute/v1/"
#define RESOURCES_PREFIX "/v1/"

// {project}, {region}, {zone}, {name} are one part of the path each. Those of the Cloud Resource Manager, behind a
// prefix of its own, come last. A path that begins with a slash is the whole path.
#define GLOBAL "projects/{project}"
#define REGION GLOBAL "/regions/{region}"
#define ZONE   GLOBAL "/zones/{zone}"
static const struct route {
    const char *method, *path, *action;
    rb_mock_gcp_method_fn *fn;
    const struct rb_gcp_collection *collection; // NULL: the method needs none
    bool is_of_resources;
} routes[] = {
    {"GET", GLOBAL, "projects.get", rb_gcp_project_get},
    {"GET", GLOBAL "/aggregated/acceleratorTypes", "acceleratorTypes.aggregatedList", rb_gcp_aggregated,
     &rb_gcp_accelerator_types},
    {"GET", GLOBAL "/aggregated/disks", "disks.aggregatedList", rb_gcp_aggregated, &rb_gcp_disks},
    {"GET", GLOBAL "/aggregated/instances", "instances.aggregatedList", rb_gcp_aggregated, &rb_gcp_instances},
    {"GET", GLOBAL "/aggregated/machineTypes", "machineTypes.aggregatedList", rb_gcp_aggregated, &rb_gcp_machine_types},
    {"GET", GLOBAL "/aggregated/operations", "globalOperations.aggregatedList", rb_gcp_aggregated, &rb_gcp_operations},
    {"GET", GLOBAL "/aggregated/reservations", "reservations.aggregatedList", rb_gcp_aggregated, &rb_gcp_reservations},
    {"GET", GLOBAL "/global/images", "images.list", rb_gcp_list, &rb_gcp_images},
    {"GET", GLOBAL "/global/images/{name}", "images.get", rb_gcp_image_get},
    {"GET", GLOBAL "/global/images/family/{name}", "images.getFromFamily", rb_gcp_image_get},
    {"GET", GLOBAL "/regions", "regions.list", rb_gcp_list, &rb_gcp_regions},
    {"GET", REGION, "regions.get", rb_gcp_get, &rb_gcp_regions},
    {"POST", REGION "/instances/bulkInsert", "regionInstances.bulkInsert", rb_gcp_instances_bulk_insert},
    {"GET", REGION "/operations/{name}", "regionOperations.get", rb_gcp_operation_get},
    {"POST", REGION "/operations/{name}/wait", "regionOperations.wait", rb_gcp_operation_get},
    {"GET", GLOBAL "/zones", "zones.list", rb_gcp_list, &rb_gcp_zones},
    {"GET", ZONE, "zones.get", rb_gcp_get, &rb_gcp_zones},
    {"GET", ZONE "/acceleratorTypes", "acceleratorTypes.list", rb_gcp_list, &rb_gcp_accelerator_types},
    {"GET", ZONE "/acceleratorTypes/{name}", "acceleratorTypes.get", rb_gcp_get, &rb_gcp_accelerator_types},
    {"GET", ZONE "/disks", "disks.list", rb_gcp_list, &rb_gcp_disks},
    {"GET", ZONE "/disks/{name}", "disks.get", rb_gcp_disk_get},
    {"GET", ZONE "/instances", "instances.list", rb_gcp_list, &rb_gcp_instances},
    {"POST", ZONE "/instances", "instances.insert", rb_gcp_instances_insert},
    {"POST", ZONE "/instances/bulkInsert", "instances.bulkInsert", rb_gcp_instances_bulk_insert},
    {"GET", ZONE "/instances/{name}", "instances.get", rb_gcp_instance_get},
    {"DELETE", ZONE "/instances/{name}", "instances.delete", rb_gcp_instance_delete},
    {"POST", ZONE "/instances/{name}/setLabels", "instances.setLabels", rb_gcp_instance_set_labels},
    {"POST", ZONE "/instances/{name}/setMetadata", "instances.setMetadata", rb_gcp_instance_set_metadata},
    {"GET", ZONE "/instances/{name}/serialPort", "instances.getSerialPortOutput", rb_gcp_instance_serial_port},
    {"POST", ZONE "/instances/{name}/stop", "instances.stop", rb_gcp_instance_stop},
    {"GET", ZONE "/machineTypes", "machineTypes.list", rb_gcp_list, &rb_gcp_machine_types},
    {"GET", ZONE "/machineTypes/{name}", "machineTypes.get", rb_gcp_get, &rb_gcp_machine_types},
    {"GET", ZONE "/operations", "zoneOperations.list", rb_gcp_list, &rb_gcp_operations},
    {"GET", ZONE "/operations/{name}", "zoneOperations.get", rb_gcp_operation_get},
    {"GET", ZONE "/reservations", "reservations.list", rb_gcp_list, &rb_gcp_reservations},
    {"GET", ZONE "/reservations/{name}", "reservations.get", rb_gcp_get, &rb_gcp_reservations},
    // "Best effort": Google answers within two minutes, and may answer at once with an operation that is not done. So
    // does this: it shows the bug of a client that takes the answer for the end, or repeats the request without a
    // pause.
    {"POST", ZONE "/operations/{name}/wait", "zoneOperations.wait", rb_gcp_operation_get},
    {"GET", "/v1/services/{name}/skus", "services.skus.list", rb_gcp_skus_list},
    {"POST", GLOBAL, "projects.testIamPermissions", rb_gcp_test_permissions, NULL, true},
};

struct rb_mock_gcp *rb_mock_gcp_create(struct rb_cloud *cloud, const struct rb_mock_gcp_account *account,
                                       const char *token)
{
    struct rb_mock_gcp *gcp = rb_xcalloc(1, sizeof *gcp);
    gcp->cloud = cloud;
    gcp->tokens = (struct rb_mock_gcp_tokens){.cloud = cloud, .account = account, .fixed = token};
    rb_arena_init(&gcp->arena);
    return gcp;
}

void rb_mock_gcp_set_console(struct rb_mock_gcp *gcp, rb_mock_gcp_console_fn *fn, void *arg)
{
    gcp->console = fn;
    gcp->console_arg = arg;
}

void rb_mock_gcp_destroy(struct rb_mock_gcp *gcp)
{
    if (!gcp)
        return;
    rb_mock_gcp_tokens_finish(&gcp->tokens);
    rb_arena_finish(&gcp->arena);
    free(gcp->instances);
    free(gcp->operations);
    free(gcp);
}

// --- the path ---

static const char **slot(struct rb_mock_gcp_call *call, const char *pattern)
{
    switch (pattern[1]) {
    case 'p':
        return &call->project;
    case 'r':
        return &call->region;
    case 'z':
        return &call->zone;
    default:
        return &call->name;
    }
}

// Names in paths are made of characters that need no escape; no resource has a name with an escape.
static bool path_matches(struct rb_mock_gcp_call *call, const char *pattern, const char *path)
{
    while (*pattern && *path) {
        size_t n = strcspn(pattern, "/"), m = strcspn(path, "/");
        if (*pattern == '{' && m > 0)
            *slot(call, pattern) = rb_arena_strndup(call->arena, path, m);
        else if (n != m || strncmp(pattern, path, n) != 0)
            return false;
        pattern += n + (pattern[n] == '/');
        path += m + (path[m] == '/');
    }
    return !*pattern && !*path;
}

static const struct route *find_route(struct rb_mock_gcp_call *call, bool *out_known_path)
{
    const char *path = call->request->path;
    *out_known_path = false;
    for (size_t k = 0; k < sizeof routes / sizeof *routes; k++) {
        const char *prefix = routes[k].path[0] == '/' ? "" : routes[k].is_of_resources ? RESOURCES_PREFIX : PREFIX;
        call->project = call->region = call->zone = call->name = NULL;
        if (strncmp(path, prefix, strlen(prefix)) != 0 || !path_matches(call, routes[k].path, path + strlen(prefix)))
            continue;
        *out_known_path = true;
        if (strcmp(routes[k].method, call->request->method) == 0)
            return &routes[k];
    }
    return NULL;
}

// --- faults ---

// The body is not checked yet: faults are decided before it is read.
static void ask_chaos(struct rb_mock_gcp_call *call, const struct route *route)
{
    const struct rb_cloud_region *region = call->zone ? rb_gcp_region_of_zone(call->cloud, call->zone) : NULL;
    const struct rb_node *properties = rb_node_member(call->body, "instanceProperties");
    const struct rb_node *machine = properties ? properties : call->body;
    const char *type = rb_node_member_text(machine, "machineType"),
               *model = rb_node_member_text(rb_node_member(machine, "scheduling"), "provisioningModel");
    struct rb_chaos_subject s = {.front = "gcp",
                                 .action = route ? route->action : NULL,
                                 .region = call->region ? call->region
                                           : region     ? region->name
                                                        : NULL,
                                 .zone = call->zone,
                                 .has_market = *type};
    if (*type)
        s.instance_type = strrchr(type, '/') ? strrchr(type, '/') + 1 : type;
    s.market = strcmp(model, "SPOT") == 0 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND;
    rb_chaos_request(rb_cloud_chaos(call->cloud), &s, call->now_us, &call->chaos);
}

// --- serving ---

static bool check_place(struct rb_mock_gcp_call *call)
{
    const char *ours = rb_mock_gcp_account_project(call->gcp->tokens.account);
    const struct rb_cloud_region *region =
        call->region ? rb_cloud_regions_find(rb_cloud_regions(call->cloud), call->region) : NULL;
    bool of_image = strstr(call->request->path, "/global/images") != NULL; // images are public
    if (call->project && strcmp(call->project, ours) != 0 && !of_image)
        return rb_gcp_refuse(call, 404, "notFound", "The resource 'projects/%.60s' was not found", call->project);
    if (call->zone && !rb_gcp_region_of_zone(call->cloud, call->zone))
        return rb_gcp_refuse(call, 400, "invalid", "Invalid value for field 'zone': '%.60s'. Unknown zone.",
                             call->zone);
    if (call->region && (!region || !region->is_gcp))
        return rb_gcp_refuse(call, 400, "invalid", "Invalid value for field 'region': '%.60s'. Unknown region.",
                             call->region);
    return true;
}

static bool check_throttle(struct rb_mock_gcp_call *call, const struct route *route)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    const struct rb_cloud_region *r = call->zone ? rb_gcp_region_of_zone(call->cloud, call->zone) : NULL;
    for (int k = 0; k < regions->n && !r; k++) // what is no zone's counts with the first region
        r = regions->regions[k].is_gcp ? &regions->regions[k] : NULL;
    bool admitted = !r || rb_cloud_admit(call->cloud, r->name, route->action, call->now_us);
    if (admitted && !call->chaos.by[RB_CHAOS_THROTTLE])
        return true;
    rb_gcp_refuse(call, 403, "rateLimitExceeded", "Rate Limit Exceeded");
    call->refusal.domain = "usageLimits";
    return false;
}

static bool act(struct rb_mock_gcp_call *call, const struct route *route)
{
    const struct rb_chaos_rule *error = call->chaos.by[RB_CHAOS_ERROR];
    if (error && !error->after_effect)
        return rb_gcp_refuse(call, (int)error->status, error->code, "%s", error->message);
    call->collection = route->collection;
    if (!route->fn(call))
        return false;
    return !error || rb_gcp_refuse(call, (int)error->status, error->code, "%s", error->message);
}

static bool read_fields(struct rb_mock_gcp_call *call, struct rb_mock_gcp_fields **out)
{
    const char *bad, *text = rb_form_get(&call->query, "fields");
    *out = NULL;
    return !text || rb_mock_gcp_fields_parse(text, call->arena, out, &bad) ||
           rb_gcp_refuse(call, 400, "invalidParameter", "Invalid field selection at '%.60s'", bad);
}

static bool serve(struct rb_mock_gcp_call *call, const struct route *route, bool known_path, int64_t unix_us)
{
    const struct rb_chaos_rule *skew = call->chaos.by[RB_CHAOS_CLOCK_SKEW];
    const char *why, *bad;
    if (!rb_mock_gcp_token_check(&call->gcp->tokens, call->request, unix_us + (skew ? skew->delay_us : 0), &why))
        return rb_gcp_refuse(call, 401, "authError", "%s", why);
    if (!route)
        return rb_gcp_refuse(call, known_path ? 405 : 404, known_path ? "httpMethodNotAllowed" : "notFound",
                             "%s %.200s is no method that this mock cloud understands", call->request->method,
                             call->request->path);
    if (route->is_of_resources && !rb_gcp_take_verb(call, "testIamPermissions"))
        return false;
    if (!check_place(call) || !rb_gcp_check_permission(call, route->action))
        return false;
    if (!rb_form_decode(&call->query, call->request->query, strlen(call->request->query), call->arena, &bad))
        return rb_gcp_refuse(call, 400, "badRequest", "The query is broken at '%.100s'", bad);
    struct rb_mock_gcp_fields *fields;
    if (!read_fields(call, &fields) || !check_throttle(call, route) || !act(call, route))
        return false;
    if (fields)
        rb_mock_gcp_fields_select(fields, call->json.out);
    return true;
}

static const char *status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{400, "INVALID_ARGUMENT"},   {412, "INVALID_ARGUMENT"}, {401, "UNAUTHENTICATED"},
                 {403, "PERMISSION_DENIED"},  {404, "NOT_FOUND"},        {409, "ALREADY_EXISTS"},
                 {429, "RESOURCE_EXHAUSTED"}, {503, "UNAVAILABLE"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k].status == status)
            return names[k].name;
    return "INTERNAL";
}

static void write_error(const struct rb_mock_gcp_refusal *r, struct rb_buf *out)
{
    struct rb_json j;
    rb_buf_clear(out);
    rb_json_init(&j, out, true);
    rb_json_put(&j, "{error: {code: %d, message: %s, errors: [{message: %s, domain: %s, reason: %s}], status: %s}}",
                r->status, r->message, r->message, r->domain, r->reason, status_name(r->status));
    rb_buf_putc(out, '\n');
}

static void answer_call(struct rb_mock_gcp_call *call, int64_t unix_us, struct rb_exchange_answer *out)
{
    bool known_path;
    const struct route *route = find_route(call, &known_path);
    RB_AUTO(rb_doc_finish) struct rb_doc body = {0};
    rb_gcp_notice_events(call->gcp);
    if (call->request->body_len > 0 &&
        rb_doc_parse_json(&body, "request body", call->request->body, call->request->body_len, NULL))
        call->body = body.root;
    ask_chaos(call, route);
    if (!rb_exchange_forestall(&call->chaos, out)) {
        rb_json_init(&call->json, &out->body, true);
        bool ok = serve(call, route, known_path, unix_us);
        out->status = ok ? 200 : call->refusal.status;
        out->content_type = "application/json; charset=UTF-8";
        if (ok)
            rb_buf_putc(&out->body, '\n');
        else
            write_error(&call->refusal, &out->body);
        rb_exchange_spoil(&call->chaos, out);
    }
}

static void answer_token(struct rb_mock_gcp_call *call, int64_t unix_us, struct rb_exchange_answer *out)
{
    const struct rb_chaos_subject s = {.front = "gcp", .action = "token"};
    rb_chaos_request(rb_cloud_chaos(call->cloud), &s, call->now_us, &call->chaos);
    const struct rb_chaos_rule *skew = call->chaos.by[RB_CHAOS_CLOCK_SKEW];
    if (rb_exchange_forestall(&call->chaos, out))
        return;
    rb_mock_gcp_token_answer(&call->gcp->tokens, call->request, unix_us + (skew ? skew->delay_us : 0), call->arena,
                             out);
    rb_exchange_spoil(&call->chaos, out);
}

// Every part is answered as if it had come alone; where chaos keeps one answer back, the whole batch goes that way.
static void answer_batch(struct rb_mock_gcp_call *call, int64_t unix_us, struct rb_exchange_answer *out)
{
    struct rb_gcp_batch batch;
    const char *why = "a batch is posted";
    if (strcmp(call->request->method, "POST") != 0 || !rb_gcp_batch_read(call->request, call->arena, &batch, &why)) {
        rb_gcp_refuse(call, 400, "badRequest", "%s", why);
        out->status = 400;
        out->content_type = "application/json; charset=UTF-8";
        write_error(&call->refusal, &out->body);
        return;
    }
    out->status = 200;
    out->content_type = rb_gcp_batch_content_type;
    for (int k = 0; k < batch.n; k++) {
        struct rb_exchange_answer one = {0};
        rb_mock_gcp_answer(call->gcp, &batch.parts[k].request, call->now_us, unix_us, &one);
        if (one.delivery != RB_EXCHANGE_WHOLE) {
            out->delivery = one.delivery;
            out->cut_at = one.cut_at;
            out->bytes_per_s = one.bytes_per_s;
        }
        out->skew_us = one.skew_us;
        if (one.status > 0)
            rb_gcp_batch_put(&batch.parts[k], &one, &out->body);
        rb_buf_finish(&one.body);
    }
    rb_gcp_batch_end(&out->body);
}

void rb_mock_gcp_answer(struct rb_mock_gcp *gcp, const struct rb_exchange_request *request, int64_t now_us,
                        int64_t unix_us, struct rb_exchange_answer *out)
{
    struct rb_arena arena;
    rb_arena_init(&arena);
    struct rb_mock_gcp_call call = {
        .gcp = gcp, .cloud = gcp->cloud, .arena = &arena, .request = request, .now_us = now_us};
    rb_cloud_advance(gcp->cloud, now_us);
    if (strcmp(request->path, "/token") == 0)
        answer_token(&call, unix_us, out);
    else if (strcmp(request->path, RB_GCP_BATCH_PATH) == 0)
        answer_batch(&call, unix_us, out);
    else
        answer_call(&call, unix_us, out);
    rb_arena_finish(&arena);
}
