// Lists: selectors, pages, and the envelope.
#include "providers/mock/cloud/page.h"
#include "providers/mock/k8s/k8s_call.h"

#include <stdlib.h>
#include <string.h>

bool rb_k8s_read_selectors(struct rb_k8s_call *call, struct rb_k8s_selector *labels, struct rb_k8s_selector *fields)
{
    const char *l = rb_k8s_query(call, "labelSelector"), *f = rb_k8s_query(call, "fieldSelector");
    if (!rb_k8s_selector_parse(l, call->arena, labels))
        return rb_k8s_refuse(call, 400, "BadRequest", "unable to parse requirement: <nil>: \"%.200s\"", l);
    return rb_k8s_selector_parse(f, call->arena, fields) ||
           rb_k8s_refuse(call, 400, "BadRequest", "invalid field selector: \"%.200s\"", f);
}

// A field that a kind has no index for is refused.
static bool check_fields(struct rb_k8s_call *call, const struct rb_k8s_kind *kind, const struct rb_k8s_selector *fields)
{
    for (int i = 0; i < fields->n; i++) {
        const char *key = fields->list[i].key, *at = kind->fields ? strstr(kind->fields, key) : NULL;
        if (!at || (at > kind->fields && at[-1] != ' ') || (at[strlen(key)] && at[strlen(key)] != ' '))
            return rb_k8s_refuse(call, 400, "BadRequest", "field label not supported: %.100s", key);
    }
    return true;
}

static bool is_wanted(struct rb_k8s_call *call, const struct rb_k8s_kind *kind, int at,
                      const struct rb_k8s_selector *labels, const struct rb_k8s_selector *fields)
{
    const void *object = kind->at(call, at);
    return (!kind->shows || kind->shows(call, at)) && rb_k8s_selector_holds(labels, object, kind->label) &&
           (fields->n == 0 || rb_k8s_selector_holds(fields, object, kind->field));
}

bool rb_k8s_list(struct rb_k8s_call *call, const struct rb_k8s_kind *kind)
{
    struct rb_k8s_selector labels, fields;
    struct rb_mock_page page;
    int64_t limit = 0;
    const char *token = rb_k8s_query(call, "continue");
    rb_k8s_query(call, "resourceVersion");
    rb_k8s_query(call, "resourceVersionMatch");
    rb_k8s_query(call, "watch");
    rb_k8s_query(call, "allowWatchBookmarks");
    rb_k8s_query(call, "timeoutSeconds");
    if (!rb_k8s_read_selectors(call, &labels, &fields) || !rb_k8s_query_int(call, "limit", &limit) ||
        !rb_k8s_checked(call) || !check_fields(call, kind, &fields))
        return false;
    if (!rb_mock_page_begin(&page, limit > 0 ? limit : INT64_MAX, token && *token ? token : NULL, &call->chaos))
        return rb_k8s_refuse(call, 400, "BadRequest", "continue key is not valid: no list gave it");
    struct rb_json *j = &call->json;
    rb_json_put(j, "{kind: %s, apiVersion: %s, items: [", kind->list_kind, kind->api_version);
    int64_t n_left = 0;
    for (int i = 0; i < kind->n; i++) {
        if (!is_wanted(call, kind, i, &labels, &fields))
            continue;
        if (rb_mock_page_take(&page, i))
            kind->write(call, i);
        else if (page.more)
            n_left++;
    }
    rb_json_put(j, "], metadata: {resourceVersion: '%ju'", (uintmax_t)call->k->version);
    if (page.more) {
        rb_json_kstring(j, "continue", rb_mock_page_next(&page, call->arena));
        if (labels.n == 0 && fields.n == 0) // the server counts only where it need not look
            rb_json_kint(j, "remainingItemCount", n_left);
    }
    rb_json_put(j, "}}");
    return true;
}
