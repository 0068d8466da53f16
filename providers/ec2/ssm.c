// Source: "GetParameter" (Systems Manager API reference), AWS JSON 1.1.
#include "providers/ec2/ssm.h"

#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/aws/aws_json_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

struct question {
    char value[256];
    rb_ssm_fn *fn;
    void *arg;
};

const char *rb_ssm_parameter_of(const char *image)
{
    static const char prefix[] = "resolve:ssm:";
    if (strncmp(image, prefix, sizeof prefix - 1) == 0)
        return image + sizeof prefix - 1;
    return image[0] == '/' ? image : NULL;
}

bool rb_ssm_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out, struct rb_err *err)
{
    struct rb_aws_client_config ssm = *config;
    ssm.service = "ssm";
    ssm.target_prefix = "AmazonSSM.";
    ssm.judge = rb_aws_json_judge;
    return rb_aws_client_create(&ssm, out, err);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct question *q = arg;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const char *value;
    if (!rb_doc_parse_json(&doc, "answer", body, n, err))
        return false;
    bool ok = rb_node_string(rb_node_member(rb_node_member(doc.root, "Parameter"), "Value"), &value, err);
    if (ok && strlen(value) >= sizeof q->value)
        ok = rb_err_set(err, RB_E_ANSWER, "Parameter.Value: expected fewer than %zu characters", sizeof q->value);
    if (ok)
        snprintf(q->value, sizeof q->value, "%s", value);
    return ok;
}

static void done(void *arg, const struct rb_err *err)
{
    struct question *q = arg;
    q->fn(q->arg, err, err ? NULL : q->value);
    free(q);
}

void rb_ssm_get(struct rb_aws_client *ssm, const char *parameter, rb_ssm_fn *fn, void *arg)
{
    struct question *q = rb_xcalloc(1, sizeof *q);
    struct rb_api_call call = {
        .name = "GetParameter",
        .content_type = "application/x-amz-json-1.1",
        .max_tries = TRIES,
        .arg = q,
        .decode = decode,
        .done = done,
        .drop = free,
    };
    struct rb_json j;
    q->fn = fn;
    q->arg = arg;
    rb_json_init(&j, &call.body, false);
    rb_json_put(&j, "{Name: %s}", parameter);
    rb_aws_send(ssm, &call);
}
