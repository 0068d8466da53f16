// Common parameters, filters and pages of the actions.
#include "providers/mock/ec2/mock_ec2_action.h"
#include "providers/mock/ec2/mock_ec2_xml.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rb_mock_refuse(struct rb_mock_call *call, int status, const char *code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rb_mock_set_refusal(call->refusal, status, code, fmt, ap);
    va_end(ap);
    return false;
}

bool rb_mock_call_is_dry_run(struct rb_mock_call *call, bool *out)
{
    *out = false;
    return rb_mock_read_bool(call, "DryRun", out);
}

bool rb_mock_refuse_dry_run(struct rb_mock_call *call)
{
    return rb_mock_refuse(call, 412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
}

bool rb_mock_call_no_unknown(struct rb_mock_call *call)
{
    const char *name = rb_form_first_unasked(call->form);
    return !name || rb_mock_refuse(call, 400, "UnknownParameter", "The parameter %.100s is not recognized", name);
}

bool rb_mock_call_checked(struct rb_mock_call *call)
{
    bool dry_run;
    if (!rb_mock_call_is_dry_run(call, &dry_run) || !rb_mock_call_no_unknown(call))
        return false;
    return !dry_run || rb_mock_refuse_dry_run(call);
}

bool rb_mock_read_int(struct rb_mock_call *call, const char *name, int64_t min, int64_t max, int64_t *out)
{
    const char *text = rb_form_get(call->form, "%s", name);
    if (!text)
        return true;
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || strlen(text) > 18 || value < min || value > max)
        return rb_mock_refuse(call, 400, "InvalidParameterValue",
                              "Value (%.40s) for parameter %s is invalid. Expected %" PRId64 " to %" PRId64, text, name,
                              min, max);
    *out = value;
    return true;
}

bool rb_mock_read_bool(struct rb_mock_call *call, const char *name, bool *out)
{
    const char *text = rb_form_get(call->form, "%s", name);
    if (!text)
        return true;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return rb_mock_refuse(call, 400, "InvalidParameterValue",
                              "Value (%.40s) for parameter %s is invalid. Expected true or false", text, name);
    *out = text[0] == 't';
    return true;
}

bool rb_mock_well_formed_id(const char *id, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(id, prefix, n) != 0)
        return false;
    size_t digits = strspn(id + n, "0123456789abcdef");
    return id[n + digits] == '\0' && (digits == 8 || digits == 17);
}

bool rb_mock_is_among(const char *text, const char *const *list, int n)
{
    for (int k = 0; k < n; k++)
        if (strcmp(list[k], text) == 0)
            return true;
    return n == 0;
}

bool rb_mock_read_optional_ids(struct rb_mock_call *call, const char *const **out, int *out_n)
{
    *out = NULL;
    *out_n = 0;
    return !rb_form_has_prefix(call->form, "InstanceId.") || rb_mock_read_ids(call, "InstanceId", "i-", out, out_n);
}

bool rb_mock_read_ids(struct rb_mock_call *call, const char *parameter, const char *prefix, const char *const **out,
                      int *out_n)
{
    *out_n = rb_form_list(call->form, parameter, call->arena, out);
    if (*out_n == 0)
        return rb_mock_refuse(call, 400, "MissingParameter", "The request must contain the parameter %s", parameter);
    for (int i = 0; i < *out_n; i++)
        if (!rb_mock_well_formed_id((*out)[i], prefix))
            return rb_mock_refuse(call, 400, "InvalidInstanceID.Malformed", "Invalid id: \"%.60s\"", (*out)[i]);
    return true;
}

// --- filters ---

static bool known_filter(const char *name, const char *const *known)
{
    for (; *known; known++) {
        size_t n = strlen(*known);
        bool prefix = (*known)[n - 1] == ':';
        if (prefix ? strncmp(name, *known, n) == 0 && name[n] : strcmp(name, *known) == 0)
            return true;
    }
    return false;
}

bool rb_mock_read_filters(struct rb_mock_call *call, const char *const *known, struct rb_mock_filters *out)
{
    out->n = 0;
    out->filters = rb_arena_array(call->arena, (size_t)call->form->n + 1, sizeof *out->filters);
    while (rb_form_has_prefix(call->form, "Filter.%d.", out->n + 1)) {
        struct rb_mock_filter *f = &out->filters[out->n++];
        f->name = rb_form_get(call->form, "Filter.%d.Name", out->n);
        f->n_values =
            rb_form_list(call->form, rb_arena_printf(call->arena, "Filter.%d.Value", out->n), call->arena, &f->values);
        if (!f->name)
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "Filter.%d has no Name", out->n);
        if (!known_filter(f->name, known))
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "The filter '%.100s' is invalid", f->name);
        if (f->n_values == 0)
            return rb_mock_refuse(call, 400, "InvalidParameterValue", "The filter '%.100s' has no Value", f->name);
    }
    return true;
}

static bool filter_matches(const struct rb_mock_filter *f, const char *text)
{
    for (int i = 0; text && i < f->n_values; i++)
        if (rb_mock_glob(f->values[i], text))
            return true;
    return false;
}

static bool tag_matches(const struct rb_mock_filter *f, const struct rb_cloud_tag *tags, int n)
{
    const bool by_key = strcmp(f->name, "tag-key") == 0;
    for (int k = 0; k < n; k++)
        if (by_key ? filter_matches(f, tags[k].key)
                   : strcmp(f->name + strlen("tag:"), tags[k].key) == 0 && filter_matches(f, tags[k].value))
            return true;
    return false;
}

bool rb_mock_filters_match(const struct rb_mock_filters *filters, const struct rb_mock_fact *facts,
                           const struct rb_cloud_tag *tags, int n_tags)
{
    for (int k = 0; k < filters->n; k++) {
        const struct rb_mock_filter *f = &filters->filters[k];
        bool matched = strncmp(f->name, "tag", 3) == 0 && tag_matches(f, tags, n_tags);
        for (const struct rb_mock_fact *fact = facts; fact->name && !matched; fact++)
            matched = strcmp(fact->name, f->name) == 0 && filter_matches(f, fact->value);
        if (!matched)
            return false;
    }
    return true;
}

// --- pages ---

bool rb_mock_read_page(struct rb_mock_call *call, int min_results, int max_results, struct rb_mock_page *out)
{
    const char *token = rb_form_get(call->form, "NextToken");
    int64_t limit = INT64_MAX;
    return rb_mock_read_int(call, "MaxResults", min_results, max_results, &limit) &&
           (rb_mock_page_begin(out, limit, token, &call->chaos) ||
            rb_mock_refuse(call, 400, "InvalidParameterValue", "Invalid value '%.60s' for NextToken", token));
}

void rb_mock_write_next_token(struct rb_mock_call *call, const struct rb_mock_page *p)
{
    rb_mock_xml_put(call->out, "nextToken:%s", rb_mock_page_next(p, call->arena));
}
