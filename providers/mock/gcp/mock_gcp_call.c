// Refusals, queries, pages and the small parts of resources.
#include "providers/mock/gcp/mock_gcp_call.h"
#include "base/text/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MAX_PAGE        500
#define ITEMS_OF_A_ZONE (INT64_C(1) << 32)
#define OFFSET_S        (7 * 3600) // Google writes Pacific time; clients must not expect Z

// --- refusing ---

bool rb_gcp_refuse(struct rb_mock_gcp_call *call, int status, const char *reason, const char *fmt, ...)
{
    va_list ap;
    call->refusal.status = status;
    call->refusal.reason = reason;
    call->refusal.domain = "global";
    va_start(ap, fmt);
    vsnprintf(call->refusal.message, sizeof call->refusal.message, fmt, ap);
    va_end(ap);
    return false;
}

bool rb_gcp_not_found(struct rb_mock_gcp_call *call, const char *kind, const char *name)
{
    if (call->zone)
        return rb_gcp_refuse(call, 404, "notFound", "The resource 'projects/%.60s/zones/%.60s/%s/%.63s' was not found",
                             call->project, call->zone, kind, name);
    if (call->region)
        return rb_gcp_refuse(call, 404, "notFound",
                             "The resource 'projects/%.60s/regions/%.60s/%s/%.63s' was not found", call->project,
                             call->region, kind, name);
    return rb_gcp_refuse(call, 404, "notFound", "The resource 'projects/%.60s/%s/%.200s' was not found", call->project,
                         kind, name);
}

bool rb_gcp_invalid(struct rb_mock_gcp_call *call, const char *field, const char *value, const char *why)
{
    return rb_gcp_refuse(call, 400, "invalid", "Invalid value for field '%s': '%.100s'. %s", field, value, why);
}

// --- reading ---

bool rb_gcp_checked(struct rb_mock_gcp_call *call)
{
    // `fields` asks for a part of the answer; here it is always whole.
    static const char *const everywhere[] = {"alt", "$alt",      "prettyPrint", "$prettyPrint",
                                             "key", "quotaUser", "fields"};
    for (size_t k = 0; k < sizeof everywhere / sizeof *everywhere; k++)
        rb_form_get(&call->query, "%s", everywhere[k]);
    const char *name = rb_form_first_unasked(&call->query);
    return !name ||
           rb_gcp_refuse(call, 400, "badRequest",
                         "Invalid JSON payload received. Unknown name \"%.100s\": Cannot bind query parameter. "
                         "Field '%.100s' could not be found in request message.",
                         name, name);
}

static bool is_uuid(const char *s)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool zero = true;
    for (size_t k = 0; k < sizeof form - 1; k++) {
        if (form[k] == '-' ? s[k] != '-' : !s[k] || !strchr("0123456789abcdefABCDEF", s[k]))
            return false;
        zero &= s[k] == '0' || s[k] == '-';
    }
    return !s[sizeof form - 1] && !zero;
}

static bool read_request_id(struct rb_mock_gcp_call *call, const char **out)
{
    *out = rb_form_get(&call->query, "requestId");
    return !*out || is_uuid(*out) ||
           rb_gcp_invalid(call, "requestId", *out, "The request ID must be a valid UUID and not be zero.");
}

bool rb_gcp_begin_change(struct rb_mock_gcp_call *call, const char **out_request_id, bool *out_result)
{
    *out_result = false;
    return read_request_id(call, out_request_id) && rb_gcp_checked(call) &&
           rb_gcp_is_first_time(call, *out_request_id, out_result);
}

const char *rb_gcp_without_host(struct rb_mock_gcp_call *call, const char *link)
{
    const char *host = rb_exchange_header(call->request, "Host");
    const char *const hosts[] = {RB_GCP_LINK, "https://compute.googleapis.com/compute/v1/",
                                 rb_arena_printf(call->arena, "http://%s/compute/v1/", host ? host : "")};
    const char *const *own = RB_ROW_STARTING(hosts, link);
    return own ? link + strlen(*own) : link;
}

bool rb_gcp_read_link(struct rb_mock_gcp_call *call, const char *field, const char *link, const char *collection,
                      const char *zone, const char **out_name)
{
    if (call->in_template) {
        *out_name = link;
        return !strchr(link, '/') ||
               rb_gcp_invalid(call, field, link, "In instanceProperties it is a name, not the URL of one zone's.");
    }
    const char *at = rb_gcp_without_host(call, link);
    const char *project = rb_arena_printf(call->arena, "projects/%s/", call->project);
    if (strncmp(at, project, strlen(project)) == 0)
        at += strlen(project);
    const char *place = zone ? rb_arena_printf(call->arena, "zones/%s/%s/", zone, collection)
                             : rb_arena_printf(call->arena, "%s/", collection);
    size_t n = strlen(place);
    if (strncmp(at, place, n) != 0 || !at[n] || strchr(at + n, '/'))
        return rb_gcp_invalid(call, field, link,
                              rb_arena_printf(call->arena, "The URL is malformed; expected %sNAME.", place));
    *out_name = at + n;
    return true;
}

// --- lists ---

bool rb_gcp_read_number(struct rb_mock_gcp_call *call, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *text = rb_form_get(&call->query, "%s", name);
    char *end;
    if (!text)
        return true;
    *out = strtoll(text, &end, 10);
    return (end != text && !*end && *out >= min && *out <= max) ||
           rb_gcp_invalid(call, name, text,
                          rb_arena_printf(call->arena, "Values must be within the range: [%jd, %jd]", min, max));
}

static bool read_flag(struct rb_mock_gcp_call *call, const char *name, bool *out)
{
    const char *text = rb_form_get(&call->query, "%s", name);
    *out = text && strcasecmp(text, "true") == 0; // gcloud writes True
    return !text || *out || strcasecmp(text, "false") == 0 ||
           rb_gcp_invalid(call, name, text, "Expected true or false.");
}

static bool read_page(struct rb_mock_gcp_call *call, struct rb_gcp_page *out)
{
    const struct rb_gcp_collection *c = call->collection;
    const char *bad, *filter = rb_form_get(&call->query, "filter"), *token = rb_form_get(&call->query, "pageToken");
    int64_t limit = MAX_PAGE;
    bool all;
    *out =
        (struct rb_gcp_page){.filter = {.known = c->fields, .field = c->field, .arena = call->arena, .context = call}};
    out->filter.text = filter && *filter ? filter : NULL;
    if (!rb_gcp_read_number(call, "maxResults", 1, MAX_PAGE, &limit) ||
        !read_flag(call, "returnPartialSuccess", &out->partial_success) || !read_flag(call, "includeAllScopes", &all) ||
        !rb_gcp_checked(call))
        return false;
    if (!rb_mock_page_begin(&out->page, limit, token && *token ? token : NULL, &call->chaos))
        return rb_gcp_invalid(call, "pageToken", token, "The token is not one that a list gave.");
    return rb_mock_gcp_filter_check(&out->filter, &bad) ||
           rb_gcp_invalid(call, "filter", out->filter.text,
                          rb_arena_printf(call->arena, "Invalid list filter expression at '%.60s'.", bad));
}

// Takes the items of one zone that belong to the page; returns their number.
static int visit(struct rb_mock_gcp_call *call, const char *zone, int64_t first, struct rb_gcp_page *p, bool write)
{
    const struct rb_gcp_collection *c = call->collection;
    int n = 0;
    for (int k = 0; k < c->count(call); k++) {
        const void *item = c->at(call, zone, k);
        if (!item || !rb_mock_gcp_filter_matches(&p->filter, item) || !rb_mock_page_take(&p->page, first + k))
            continue;
        n++;
        if (write)
            c->write(call, zone, item);
    }
    return n;
}

static void begin_list(struct rb_mock_gcp_call *call, const char *kind)
{
    const char *path = call->request->path + strlen("/compute/v1/");
    rb_json_put(&call->json, "{kind: 'compute#%s%s', id: %s, selfLink: '" RB_GCP_LINK "%s'", call->collection->kind,
                kind, path, path);
}

static void end_list(struct rb_mock_gcp_call *call, const struct rb_gcp_page *p)
{
    rb_json_put(&call->json, "nextPageToken: %s}", rb_mock_page_next(&p->page, call->arena));
}

bool rb_gcp_list(struct rb_mock_gcp_call *call)
{
    struct rb_gcp_page page;
    if (!read_page(call, &page))
        return false;
    begin_list(call, "List");
    rb_json_put(&call->json, "items: [");
    visit(call, call->zone, 0, &page, true);
    rb_json_put(&call->json, "]");
    end_list(call, &page);
    return true;
}

bool rb_gcp_get(struct rb_mock_gcp_call *call)
{
    const struct rb_gcp_collection *c = call->collection;
    const char *name = call->name ? call->name : call->zone ? call->zone : call->region;
    if (!rb_gcp_checked(call))
        return false;
    for (int k = 0; k < c->count(call); k++) {
        const void *item = c->at(call, call->zone, k);
        if (item && strcmp(c->field(item, "name", call), name) == 0) {
            c->write(call, call->zone, item);
            return true;
        }
    }
    return rb_gcp_not_found(call, c->name, name);
}

// --- aggregated lists ---

static void write_scope(struct rb_mock_gcp_call *call, const char *zone, bool reachable, int64_t first,
                        struct rb_gcp_page *p)
{
    static const char warning[] = "warning: {code: %s, message: '%s%s%s', data: [{key: 'scope', value: 'zones/%s'}]}}";
    struct rb_json *j = &call->json;
    struct rb_gcp_page count = *p; // whether there is anything must be known before it is written
    rb_json_put(j, "'zones/%s': {", zone);
    if (!reachable) {
        rb_json_put(j, warning, "UNREACHABLE", "The zone ", zone, " is unreachable at the moment.", zone);
    } else if (visit(call, zone, first, &count, false) == 0) {
        *p = count;
        rb_json_put(j, warning, "NO_RESULTS_ON_PAGE", "There are no results for scope 'zones/", zone, "' on this page.",
                    zone);
    } else {
        rb_json_put(j, "%s: [", call->collection->name);
        visit(call, zone, first, p, true);
        rb_json_put(j, "]}");
    }
}

bool rb_gcp_aggregated(struct rb_mock_gcp_call *call)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    const struct rb_chaos_rule *lost = call->chaos.by[RB_CHAOS_UNREACHABLE];
    struct rb_gcp_page page;
    int64_t first = 0;
    if (!read_page(call, &page))
        return false;
    if (lost && !page.partial_success)
        return rb_gcp_refuse(call, 503, "backendError", "The zone %s is unreachable at the moment.",
                             lost->unreachable_zone);
    begin_list(call, "AggregatedList");
    rb_json_put(&call->json, "items: {");
    for (int r = 0; r < regions->n; r++)
        for (int z = 0; regions->regions[r].is_gcp && z < regions->regions[r].n_zones; z++, first += ITEMS_OF_A_ZONE) {
            const char *zone = regions->regions[r].zones[z];
            write_scope(call, zone, !lost || strcmp(lost->unreachable_zone, zone) != 0, first, &page);
        }
    rb_json_put(&call->json, "}");
    if (lost)
        rb_json_put(&call->json, "unreachables: ['projects/%s/zones/%s']", call->project, lost->unreachable_zone);
    end_list(call, &page);
    return true;
}

// --- writing ---

const char *rb_gcp_link(struct rb_mock_gcp_call *call, const char *fmt, ...)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    va_list ap;
    rb_buf_printf(&text, RB_GCP_LINK "projects/%s", call->project);
    va_start(ap, fmt);
    rb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    return rb_arena_strdup(call->arena, rb_buf_str(&text));
}

const char *rb_gcp_instant(struct rb_mock_gcp_call *call, int64_t unix_us)
{
    time_t s = (time_t)(unix_us / RB_US_PER_S) - OFFSET_S;
    struct tm tm;
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&s, &tm));
    return rb_arena_printf(call->arena, "%s.%03d-07:00", date, (int)(unix_us % RB_US_PER_S / 1000));
}

const struct rb_cloud_region *rb_gcp_region_of_zone(const struct rb_cloud *cloud, const char *zone)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(cloud);
    for (int r = 0; r < regions->n; r++)
        if (regions->regions[r].is_gcp && rb_cloud_region_has_zone(&regions->regions[r], zone))
            return &regions->regions[r];
    return NULL;
}
