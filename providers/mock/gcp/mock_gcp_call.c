// Refusals, queries, pages and the small parts of resources.
#include "providers/mock/gcp/mock_gcp_call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MAX_PAGE        500
#define ITEMS_OF_A_ZONE (INT64_C(1) << 32)
#define OFFSET_S        (7 * 3600) // Google writes Pacific time; who reads only Z is in for a surprise

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

bool rb_gcp_read_request_id(struct rb_mock_gcp_call *call, const char **out)
{
    *out = rb_form_get(&call->query, "requestId");
    return !*out || is_uuid(*out) ||
           rb_gcp_invalid(call, "requestId", *out, "The request ID must be a valid UUID and not be zero.");
}

const char *rb_gcp_without_host(struct rb_mock_gcp_call *call, const char *link)
{
    const char *host = rb_exchange_header(call->request, "Host");
    const char *const hosts[] = {RB_GCP_LINK, "https://compute.googleapis.com/compute/v1/",
                                 rb_arena_printf(call->arena, "http://%s/compute/v1/", host ? host : "")};
    for (size_t k = 0; k < sizeof hosts / sizeof *hosts; k++)
        if (strncmp(link, hosts[k], strlen(hosts[k])) == 0)
            return link + strlen(hosts[k]);
    return link;
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

static bool read_limit(struct rb_mock_gcp_call *call, struct rb_gcp_page *out)
{
    const char *text = rb_form_get(&call->query, "maxResults");
    const struct rb_chaos_rule *partial = call->chaos.by[RB_CHAOS_PARTIAL_PAGE];
    char *end;
    out->limit = text ? strtoll(text, &end, 10) : MAX_PAGE;
    if (text && (end == text || *end || out->limit < 1 || out->limit > MAX_PAGE))
        return rb_gcp_invalid(call, "maxResults", text, "Values must be within the range: [1, 500]");
    if (partial && partial->items < out->limit)
        out->limit = partial->items;
    return true;
}

// A token is opaque to clients: the position after the last item they saw.
static bool read_token(struct rb_mock_gcp_call *call, struct rb_gcp_page *out)
{
    const char *text = rb_form_get(&call->query, "pageToken");
    char *end;
    out->after = out->last = -1;
    if (!text || !*text)
        return true;
    if (strncmp(text, "page", 4) != 0 || strlen(text) != 20)
        return rb_gcp_invalid(call, "pageToken", text, "The token is not one that a list gave.");
    out->after = out->last = strtoll(text + 4, &end, 16) - 1;
    return (!*end && out->after >= -1) ||
           rb_gcp_invalid(call, "pageToken", text, "The token is not one that a list gave.");
}

static bool read_flag(struct rb_mock_gcp_call *call, const char *name, bool *out)
{
    const char *text = rb_form_get(&call->query, "%s", name);
    *out = text && strcasecmp(text, "true") == 0; // gcloud writes True
    return !text || *out || strcasecmp(text, "false") == 0 ||
           rb_gcp_invalid(call, name, text, "Expected true or false.");
}

bool rb_gcp_read_page(struct rb_mock_gcp_call *call, const char *const *known, rb_mock_gcp_field_fn *field,
                      struct rb_gcp_page *out)
{
    const char *bad;
    bool all;
    *out = (struct rb_gcp_page){.filter = {.known = known, .field = field, .arena = call->arena, .context = call}};
    if (known)
        out->filter.text = rb_form_get(&call->query, "filter");
    if (out->filter.text && !*out->filter.text)
        out->filter.text = NULL;
    if (!read_limit(call, out) || !read_token(call, out) ||
        !read_flag(call, "returnPartialSuccess", &out->partial_success) || !read_flag(call, "includeAllScopes", &all) ||
        !rb_gcp_checked(call))
        return false;
    return rb_mock_gcp_filter_check(&out->filter, &bad) ||
           rb_gcp_invalid(call, "filter", out->filter.text,
                          rb_arena_printf(call->arena, "Invalid list filter expression at '%.60s'.", bad));
}

bool rb_gcp_page_take(struct rb_gcp_page *p, int64_t position, const void *item)
{
    if (position <= p->after || !rb_mock_gcp_filter_matches(&p->filter, item))
        return false;
    if (p->n == p->limit) {
        p->more = true;
        return false;
    }
    p->n++;
    p->last = position;
    return true;
}

void rb_gcp_begin_list(struct rb_mock_gcp_call *call, const char *kind)
{
    rb_json_begin_object(&call->json);
    rb_json_kstring(&call->json, "kind", kind);
    rb_json_kstring(&call->json, "id", call->request->path + strlen("/compute/v1/"));
    rb_json_kstring(&call->json, "selfLink",
                    rb_arena_printf(call->arena, RB_GCP_LINK "%s", call->request->path + strlen("/compute/v1/")));
}

void rb_gcp_end_list(struct rb_mock_gcp_call *call, const struct rb_gcp_page *p)
{
    if (p->more)
        rb_json_kstring(&call->json, "nextPageToken",
                        rb_arena_printf(call->arena, "page%016" PRIx64, (uint64_t)p->last + 1));
    rb_json_end_object(&call->json);
}

// --- aggregated lists ---

static void write_warning(struct rb_json *j, const char *code, const char *zone, const char *message)
{
    rb_json_key(j, "warning");
    rb_json_begin_object(j);
    rb_json_kstring(j, "code", code);
    rb_json_kstring(j, "message", message);
    rb_json_key(j, "data");
    rb_json_begin_array(j);
    rb_json_begin_object(j);
    rb_json_kstring(j, "key", "scope");
    rb_json_kstring(j, "value", zone);
    rb_json_end_object(j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

static void write_scope(struct rb_mock_gcp_call *call, const char *zone, bool reachable, const char *collection,
                        int64_t first, struct rb_gcp_page *p, rb_gcp_visit_fn *visit)
{
    struct rb_json *j = &call->json;
    const char *scope = rb_arena_printf(call->arena, "zones/%s", zone);
    struct rb_gcp_page count = *p; // whether there is anything must be known before it is written
    rb_json_key(j, scope);
    rb_json_begin_object(j);
    if (!reachable) {
        write_warning(j, "UNREACHABLE", scope,
                      rb_arena_printf(call->arena, "The zone %s is unreachable at the moment.", zone));
    } else if (visit(call, zone, first, &count, false) == 0) {
        *p = count;
        write_warning(j, "NO_RESULTS_ON_PAGE", scope,
                      rb_arena_printf(call->arena, "There are no results for scope '%s' on this page.", scope));
    } else {
        rb_json_key(j, collection);
        rb_json_begin_array(j);
        visit(call, zone, first, p, true);
        rb_json_end_array(j);
    }
    rb_json_end_object(j);
}

bool rb_gcp_aggregated(struct rb_mock_gcp_call *call, const char *kind, const char *collection, struct rb_gcp_page *p,
                       rb_gcp_visit_fn *visit)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(call->cloud);
    const struct rb_chaos_rule *lost = call->chaos.by[RB_CHAOS_UNREACHABLE];
    int64_t first = 0;
    if (lost && !p->partial_success)
        return rb_gcp_refuse(call, 503, "backendError", "The zone %s is unreachable at the moment.",
                             lost->unreachable_zone);
    rb_gcp_begin_list(call, kind);
    rb_json_key(&call->json, "items");
    rb_json_begin_object(&call->json);
    for (int r = 0; r < regions->n; r++)
        for (int z = 0; regions->regions[r].is_gcp && z < regions->regions[r].n_zones; z++, first += ITEMS_OF_A_ZONE) {
            const char *zone = regions->regions[r].zones[z];
            write_scope(call, zone, !lost || strcmp(lost->unreachable_zone, zone) != 0, collection, first, p, visit);
        }
    rb_json_end_object(&call->json);
    if (lost) {
        rb_json_key(&call->json, "unreachables");
        rb_json_begin_array(&call->json);
        rb_json_string(&call->json,
                       rb_arena_printf(call->arena, "projects/%s/zones/%s", call->project, lost->unreachable_zone));
        rb_json_end_array(&call->json);
    }
    rb_gcp_end_list(call, p);
    return true;
}

// --- writing ---

void rb_gcp_klink(struct rb_mock_gcp_call *call, const char *key, const char *fmt, ...)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    va_list ap;
    rb_buf_printf(&text, RB_GCP_LINK "projects/%s", call->project);
    va_start(ap, fmt);
    rb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    rb_json_kstring(&call->json, key, rb_buf_str(&text));
}

void rb_gcp_kid(struct rb_json *j, const char *key, uint64_t id)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, id);
    rb_json_kstring(j, key, text);
}

void rb_gcp_kinstant(struct rb_json *j, const char *key, int64_t unix_us)
{
    time_t s = (time_t)(unix_us / RB_US_PER_S) - OFFSET_S;
    struct tm tm;
    char date[32], text[48];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", gmtime_r(&s, &tm));
    snprintf(text, sizeof text, "%s.%03d-07:00", date, (int)(unix_us % RB_US_PER_S / 1000));
    rb_json_kstring(j, key, text);
}

const struct rb_cloud_region *rb_gcp_region_of_zone(const struct rb_cloud *cloud, const char *zone)
{
    const struct rb_cloud_regions *regions = rb_cloud_regions(cloud);
    for (int r = 0; r < regions->n; r++)
        if (regions->regions[r].is_gcp && rb_cloud_region_has_zone(&regions->regions[r], zone))
            return &regions->regions[r];
    return NULL;
}
