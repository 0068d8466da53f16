// ServiceQuotasV20190624: the quotas of the cloud file that carry a code, as they are enforced. Nothing here was ever
// left at a default, so the list of defaults is empty.
#include "profiles/catalog/infra.h"
#include "providers/mock/ec2/mock_aws_json.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 100 };

struct question {
    int64_t max_results, first;
};

static bool invalid(struct rb_mock_json_call *call, const char *what)
{
    return rb_mock_json_refuse(call, 400, "IllegalArgumentException", "%s", what);
}

// A token is opaque to clients: "page" and the position of the next quota.
static bool read_token(struct rb_mock_json_call *call, const struct rb_node *node, struct question *q)
{
    const char *text;
    char *end = NULL;
    q->first = 0;
    if (!node)
        return true;
    if (rb_node_string(node, &text, NULL) && strncmp(text, "page", 4) == 0 && text[4])
        q->first = strtoll(text + 4, &end, 16);
    return (end && !*end && q->first > 0) ||
           rb_mock_json_refuse(call, 400, "InvalidPaginationTokenException", "The pagination token is invalid");
}

static bool read_question(struct rb_mock_json_call *call, struct question *q)
{
    const char *service;
    struct rb_map m;
    struct rb_err err;
    rb_map_begin(&m, call->body, NULL);
    const struct rb_node *max = rb_map_get(&m, "MaxResults"), *token = rb_map_get(&m, "NextToken");
    q->max_results = MAX_RESULTS;
    if (!rb_node_string(rb_map_get(&m, "ServiceCode"), &service, NULL) || strcmp(service, "ec2") != 0)
        return rb_mock_json_refuse(call, 400, "NoSuchResourceException", "ServiceCode: this mock cloud knows ec2");
    if (!rb_map_end(&m, &err))
        return invalid(call, err.message);
    if (max && !rb_node_int(max, 1, MAX_RESULTS, &q->max_results, NULL))
        return invalid(call, "MaxResults: expected 1..100");
    return read_token(call, token, q);
}

static bool is_of_region(const struct rb_mock_json_call *call, const struct rb_cloud_quota *q)
{
    const char *slash = strchr(q->scope.infra, '/');
    return q->code && (!slash || strcmp(slash + 1, call->region) == 0);
}

static void write_quota(struct rb_mock_json_call *call, const struct rb_cloud_quota *q)
{
    rb_json_put(&call->json,
                "{ServiceCode: 'ec2', ServiceName: 'Amazon Elastic Compute Cloud (Amazon EC2)', QuotaArn: "
                "'arn:aws:servicequotas:%s:" RB_MOCK_ACCOUNT ":ec2/%s', QuotaCode: %s, QuotaName: %s, Value: %g,"
                "Unit: 'None', Adjustable: true, GlobalQuota: false}",
                call->region, q->code, q->code, q->name, (double)q->max);
}

bool rb_mock_list_service_quotas(struct rb_mock_json_call *call)
{
    const struct rb_cloud_limits *l = &rb_cloud_config_of(call->cloud)->limits;
    const struct rb_chaos_rule *partial = call->chaos.by[RB_CHAOS_PARTIAL_PAGE];
    struct question q;
    int n = 0, at;
    if (!read_question(call, &q))
        return false;
    if (partial && partial->items < q.max_results)
        q.max_results = partial->items;
    rb_json_put(&call->json, "{Quotas: [");
    for (at = (int)q.first; at < l->n_quotas && n < q.max_results; at++) {
        if (!is_of_region(call, &l->quotas[at]))
            continue;
        write_quota(call, &l->quotas[at]);
        n++;
    }
    rb_json_put(&call->json, "], NextToken: %s}",
                at < l->n_quotas ? rb_arena_printf(call->arena, "page%x", (unsigned)at) : NULL);
    return true;
}

bool rb_mock_list_default_quotas(struct rb_mock_json_call *call)
{
    struct question q;
    if (!read_question(call, &q))
        return false;
    rb_json_put(&call->json, "{Quotas: []}");
    return true;
}
