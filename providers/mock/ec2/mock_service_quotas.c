// ServiceQuotasV20190624: the quotas of the cloud file that carry a code, as they are enforced. Nothing here was ever
// left at a default, so the list of defaults is empty.
#include "profiles/catalog/infra.h"
#include "providers/mock/ec2/mock_aws_json.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RESULTS = 100 };

static bool read_question(struct rb_mock_json_call *call, struct rb_mock_page *out)
{
    struct question {
        const char *service, *token;
        int64_t max_results;
    } q = {.max_results = MAX_RESULTS};
    static const struct rb_member members[] = {
        {"ServiceCode", RB_MEMBER_TEXT, offsetof(struct question, service)},
        {"MaxResults", RB_MEMBER_INT, offsetof(struct question, max_results), .min = 1, .max = MAX_RESULTS},
        {"NextToken", RB_MEMBER_TEXT, offsetof(struct question, token)},
        {0},
    };
    if (!rb_mock_json_read(call, members, &q, "IllegalArgumentException"))
        return false;
    if (!q.service || strcmp(q.service, "ec2") != 0)
        return rb_mock_json_refuse(call, 400, "NoSuchResourceException", "ServiceCode: this mock cloud knows ec2");
    return rb_mock_page_begin(out, q.max_results, q.token, &call->chaos) ||
           rb_mock_json_refuse(call, 400, "InvalidPaginationTokenException", "The pagination token is invalid");
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
    struct rb_mock_page page;
    if (!read_question(call, &page))
        return false;
    rb_json_put(&call->json, "{Quotas: [");
    for (int k = 0; k < l->n_quotas; k++)
        if (is_of_region(call, &l->quotas[k]) && rb_mock_page_take(&page, k))
            write_quota(call, &l->quotas[k]);
    rb_json_put(&call->json, "], NextToken: %s}", rb_mock_page_next(&page, call->arena));
    return true;
}

bool rb_mock_list_default_quotas(struct rb_mock_json_call *call)
{
    struct rb_mock_page page;
    if (!read_question(call, &page))
        return false;
    rb_json_put(&call->json, "{Quotas: []}");
    return true;
}
