// Sources: "Use IMDSv2" (EC2 user guide), "Container credential provider" (SDKs' reference guide), GetRoleCredentials
// (SSO portal API), AssumeRole and AssumeRoleWithWebIdentity (STS API, version 2011-06-15).
#include "providers/aws/aws_session_private.h"

#include "base/errors/log.h"
#include "base/text/units.h"
#include "providers/aws/aws_endpoint.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_sign.h"
#include "providers/wire/percent.h"
#include "providers/wire/private_file.h"
#include "providers/wire/xml.h"

#include <stdio.h>
#include <string.h>

#define INSTANCE_PATH "/latest/meta-data/iam/security-credentials/"
static const int64_t near_timeout_us = 2 * RB_US_PER_S; // of what is on this machine's own link
static const char form[] = "application/x-www-form-urlencoded; charset=utf-8";
enum { TRIES = 3 };

bool rb_aws_step_at(const struct rb_aws_identity *identity, int i, enum rb_aws_step *out, int *out_role)
{
    static const struct {
        int n;
        enum rb_aws_step first;
    } origins[] = {
        [RB_AWS_KEYS] = {0, RB_AWS_STEP_ROLE},
        [RB_AWS_SSO] = {1, RB_AWS_STEP_SSO},
        [RB_AWS_WEB_IDENTITY] = {1, RB_AWS_STEP_WEB_IDENTITY},
        [RB_AWS_CONTAINER] = {1, RB_AWS_STEP_CONTAINER},
        [RB_AWS_INSTANCE] = {3, RB_AWS_STEP_INSTANCE_TOKEN},
    };
    const int n = origins[identity->origin].n;
    *out = i < n ? origins[identity->origin].first + (enum rb_aws_step)i : RB_AWS_STEP_ROLE;
    *out_role = i - n;
    return i < n + identity->n_roles;
}

static const struct rb_aws_role *role_of(const struct rb_aws_session *s)
{
    enum rb_aws_step step;
    int role;
    rb_aws_step_at(&s->identity, s->step, &step, &role);
    return &s->identity.roles[role];
}

// --- parameters that identify us ---

static void with_header(struct rb_api_try *t, const char *name, const char *value)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    rb_buf_printf(&line, "%s: %s", name, value);
    const char *const headers[] = {line.data};
    rb_api_transmit(t, headers, value[0] != '\0');
    explicit_bzero(line.data, line.len);
}

static void as_asking_for_token(void *authority, struct rb_api_try *t)
{
    (void)authority;
    with_header(t, "X-aws-ec2-metadata-token-ttl-seconds", "21600");
}

static void with_instance_token(void *authority, struct rb_api_try *t)
{
    with_header(t, "X-aws-ec2-metadata-token", ((const struct rb_aws_session *)authority)->instance_token);
}

static void with_container_token(void *authority, struct rb_api_try *t)
{
    with_header(t, "Authorization", ((const struct rb_aws_session *)authority)->identity.token);
}

static void with_bearer(void *authority, struct rb_api_try *t)
{
    with_header(t, "x-amz-sso_bearer_token", ((const struct rb_aws_session *)authority)->identity.token);
}

static void signed_by_what_was_found(void *authority, struct rb_api_try *t)
{
    const struct rb_aws_session *s = authority;
    char endpoint[512];
    struct rb_err err;
    if (!rb_aws_endpoint("sts", s->region, s->config.loopback_only, endpoint, sizeof endpoint, &err)) {
        rb_api_cannot_transmit(t, &err);
        return;
    }
    const struct rb_aws_signing signing = {
        .service = "sts", .region = s->region, .endpoint = endpoint, .unix_us = s->loop->unix_us(s->loop->ctx)};
    rb_aws_sign(&signing, &s->found, t);
}

// --- what is asked ---

static void put_role(const struct rb_aws_role *role, const char *action, struct rb_buf *out)
{
    char duration[32];
    snprintf(duration, sizeof duration, "%lld", (long long)role->duration_s);
    rb_percent_put(out, "Action=%s&Version=2011-06-15&RoleArn=%s&RoleSessionName=%s&ExternalId=%s&DurationSeconds=%s",
                   action, role->arn, role->session_name, role->external_id[0] ? role->external_id : NULL,
                   role->duration_s > 0 ? duration : NULL);
}

static void ask_role(const struct rb_aws_session *s, struct rb_api_call *call)
{
    put_role(role_of(s), "AssumeRole", &call->body);
}

static void ask_web_identity(const struct rb_aws_session *s, struct rb_api_call *call)
{
    put_role(&s->identity.web_role, "AssumeRoleWithWebIdentity", &call->body);
    rb_percent_put(&call->body, "&WebIdentityToken=%s", s->identity.token);
}

static void ask_sso(const struct rb_aws_session *s, struct rb_api_call *call)
{
    rb_percent_put(&call->target, "/federation/credentials?role_name=%s&account_id=%s", s->identity.sso_role,
                   s->identity.account);
}

static void ask_instance_token(const struct rb_aws_session *s, struct rb_api_call *call)
{
    (void)s;
    rb_buf_puts(&call->target, "/latest/api/token");
}

static void ask_instance_role(const struct rb_aws_session *s, struct rb_api_call *call)
{
    (void)s;
    rb_buf_puts(&call->target, INSTANCE_PATH);
}

static void ask_instance_keys(const struct rb_aws_session *s, struct rb_api_call *call)
{
    rb_percent_put(&call->target, INSTANCE_PATH "%s", s->instance_role);
}

static void ask_container(const struct rb_aws_session *s, struct rb_api_call *call)
{
    (void)s, (void)call; // the URL is enough
}

// --- what is answered ---

// One line of text from the metadata service.
static bool decode_line(const char *what, const char *body, size_t n, char *out, size_t size, struct rb_err *err)
{
    const size_t len = strcspn(body, "\r\n");
    for (size_t i = 0; i < len; i++)
        if (body[i] < 0x21 || body[i] > 0x7e)
            return rb_err_set(err, RB_E_ANSWER, "%s: expected one printable word", what);
    if (len == 0 || len >= size || strlen(body) != n)
        return rb_err_set(err, RB_E_ANSWER, "%s: expected one line of text", what);
    snprintf(out, size, "%.*s", (int)len, body);
    return true;
}

static bool decode_instance_token(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct rb_aws_session *s = arg;
    return decode_line("token of the metadata service", body, n, s->instance_token, sizeof s->instance_token, err);
}

static bool decode_instance_role(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct rb_aws_session *s = arg;
    return decode_line("the instance's role", body, n, s->instance_role, sizeof s->instance_role, err);
}

static bool decode_json(const char *body, size_t n,
                        bool (*read)(const struct rb_doc *, struct rb_aws_session *, struct rb_err *),
                        struct rb_aws_session *s, struct rb_err *err)
{
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    return rb_doc_parse_json(&doc, "answer", body, n, err) && read(&doc, s, err);
}

static bool read_keys(const struct rb_doc *doc, struct rb_aws_session *s, struct rb_err *err)
{
    const struct rb_node *code = rb_node_member(doc->root, "Code");
    if (code && strcmp(code->text, "Success") != 0) {
        char text[64];
        return rb_err_set(err, RB_E_ANSWER, "expected \"Code\": \"Success\", got \"%s\"",
                          rb_log_sanitise(code->text, strlen(code->text), text, sizeof text));
    }
    return rb_aws_credentials_read(doc->root, "Token", s->identity.source, &s->found, err);
}

static bool decode_keys(void *arg, const char *body, size_t n, struct rb_err *err)
{
    return decode_json(body, n, read_keys, arg, err);
}

static bool read_sso(const struct rb_doc *doc, struct rb_aws_session *s, struct rb_err *err)
{
    const struct rb_node *keys = rb_node_member(doc->root, "roleCredentials");
    const char *access, *secret, *token;
    int64_t expiration_ms;
    if (!rb_node_string(rb_node_member(keys, "accessKeyId"), &access, err) ||
        !rb_node_string(rb_node_member(keys, "secretAccessKey"), &secret, err) ||
        !rb_node_string(rb_node_member(keys, "sessionToken"), &token, err) ||
        !rb_node_int(rb_node_member(keys, "expiration"), 0, INT64_MAX / 1000, &expiration_ms, err) ||
        !rb_aws_credentials_set(&s->found, access, secret, token, s->identity.source, err))
        return false;
    s->found.expires_at_us = expiration_ms * 1000;
    return true;
}

static bool decode_sso(void *arg, const char *body, size_t n, struct rb_err *err)
{
    return decode_json(body, n, read_sso, arg, err);
}

// <AssumeRoleResponse><AssumeRoleResult><Credentials>...
static bool decode_sts(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct rb_aws_session *s = arg;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_xml *root, *keys = NULL;
    if (!rb_xml_parse(body, n, &arena, &root, err))
        return false;
    for (const struct rb_xml *result = root->first; result && !keys; result = result->next)
        keys = rb_xml_child(result, "Credentials");
    const char *access = rb_xml_text(keys, "AccessKeyId"), *secret = rb_xml_text(keys, "SecretAccessKey");
    const char *token = rb_xml_text(keys, "SessionToken"), *expiration = rb_xml_text(keys, "Expiration");
    int64_t expires_at_us;
    if (!access || !secret || !token || !expiration)
        return rb_err_set(err, RB_E_ANSWER,
                          "expected Credentials with AccessKeyId, SecretAccessKey, SessionToken and Expiration");
    if (!rb_parse_instant(expiration, &expires_at_us, err) ||
        !rb_aws_credentials_set(&s->found, access, secret, token, s->identity.source, err))
        return false;
    s->found.expires_at_us = expires_at_us;
    return true;
}

// --- the table ---

// It answers in HTML, and only the status means anything. Version 1, which needs no token, is never fallen back to.
static enum rb_api_reaction judge_instance(long status, const char *body, size_t n, struct rb_err *err)
{
    (void)body, (void)n;
    rb_err_set(err, status >= 500 ? RB_E_CLOUD_STATE : RB_E_CREDENTIALS_MISSING, "status %ld%s", status,
               status == 404   ? ": no role is attached to this instance"
               : status == 403 ? ": the metadata service is switched off"
                               : "");
    return status >= 500 || status == 401 ? RB_API_RETRY : RB_API_FAIL;
}

static const struct step {
    const char *name, *method;
    const char *service; // whose endpoint; NULL: the identity's URL
    rb_api_judge_fn *judge;
    void (*authorise)(void *authority, struct rb_api_try *t);
    void (*ask)(const struct rb_aws_session *s, struct rb_api_call *call);
    bool (*decode)(void *arg, const char *body, size_t n, struct rb_err *err);
} steps[RB_AWS_N_STEPS] = {
    [RB_AWS_STEP_INSTANCE_TOKEN] = {"metadata token", "PUT", NULL, judge_instance, as_asking_for_token,
                                    ask_instance_token, decode_instance_token},
    [RB_AWS_STEP_INSTANCE_ROLE] = {"role of the instance", "GET", NULL, judge_instance, with_instance_token,
                                   ask_instance_role, decode_instance_role},
    [RB_AWS_STEP_INSTANCE_KEYS] = {"keys of the instance", "GET", NULL, judge_instance, with_instance_token,
                                   ask_instance_keys, decode_keys},
    [RB_AWS_STEP_CONTAINER] = {"keys of the container", "GET", NULL, rb_aws_json_judge, with_container_token,
                               ask_container, decode_keys},
    [RB_AWS_STEP_SSO] = {"GetRoleCredentials", "GET", "sso", rb_aws_json_judge, with_bearer, ask_sso, decode_sso},
    [RB_AWS_STEP_WEB_IDENTITY] = {"AssumeRoleWithWebIdentity", "POST", "sts", rb_aws_query_judge, NULL,
                                  ask_web_identity, decode_sts},
    [RB_AWS_STEP_ROLE] = {"AssumeRole", "POST", "sts", rb_aws_query_judge, signed_by_what_was_found, ask_role,
                          decode_sts},
};

bool rb_aws_step_begin(struct rb_aws_session *s, char endpoint[static 512], struct rb_api_config *config,
                       struct rb_api_call *call, struct rb_err *err)
{
    enum rb_aws_step at;
    int role;
    rb_aws_step_at(&s->identity, s->step, &at, &role);
    const struct step *step = &steps[at];
    const char *region = at == RB_AWS_STEP_SSO ? s->identity.sso_region : s->region;
    if (!step->service)
        snprintf(endpoint, 512, "%s", s->identity.url);
    else if (!rb_aws_endpoint(step->service, region, s->config.loopback_only, endpoint, 512, err))
        return false;
    config->judge = step->judge;
    config->authorise = step->authorise;
    call->name = step->name;
    call->method = step->method;
    call->max_tries = TRIES;
    call->decode = step->decode;
    call->metadata = !step->service;
    call->timeout_us = step->service ? 0 : near_timeout_us;
    step->ask(s, call);
    if (call->body.len > 0)
        call->content_type = form;
    return true;
}
