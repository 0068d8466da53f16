// Source: "GetParameter" (Systems Manager API reference), AWS JSON 1.1.
#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

struct question {
    struct rb_arena arena;
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
    rb_api_state_free(q);
}

void rb_ssm_get(struct rb_aws_client *ssm, const char *parameter, rb_ssm_fn *fn, void *arg)
{
    struct question *q = rb_api_state_create(sizeof *q);
    struct rb_api_call call = rb_api_call_new("GetParameter", TRIES, q, decode, done);
    struct rb_json j;
    q->fn = fn;
    q->arg = arg;
    rb_json_init(&j, &call.body, false);
    rb_json_put(&j, "{Name: %s}", parameter);
    rb_aws_send(ssm, &call);
}
