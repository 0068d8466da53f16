// Source: "AWS JSON 1.1 protocol" (Smithy), common errors of the APIs.
#include "providers/aws/aws_json_errors.h"

#include "base/document/doc.h"
#include "base/errors/log.h"

#include <string.h>

// A code that is in no row is judged by its status.
static const struct row {
    const char *code;
    enum rb_err_number number;
    enum rb_api_reaction reaction;
} rows[] = {
    {"ExpiredTokenException", RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"RequestExpired", RB_E_CREDENTIALS_EXPIRED, RB_API_REFRESH},
    {"ThrottlingException", RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"TooManyRequestsException", RB_E_THROTTLED, RB_API_SLOW_DOWN},
    {"ParameterNotFound", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
    {"ParameterVersionNotFound", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
    {"ResourceNotFoundException", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
    {"NoSuchResourceException", RB_E_CLOUD_NOT_FOUND, RB_API_FAIL},
    {"AccessDeniedException", RB_E_PERMISSION, RB_API_FAIL},
    {"UnauthorizedException", RB_E_PERMISSION, RB_API_FAIL},
    {"ForbiddenException", RB_E_PERMISSION, RB_API_FAIL},
    {"UnrecognizedClientException", RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"InvalidSignatureException", RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"InvalidClientTokenId", RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"MissingAuthenticationTokenException", RB_E_CREDENTIALS_UNUSABLE, RB_API_FAIL},
    {"InternalServerError", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"InternalErrorException", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
    {"ServiceUnavailableException", RB_E_OUTCOME_UNKNOWN, RB_API_RETRY},
};

static struct row classify(long status, const char *code)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].code, code) == 0)
            return rows[i];
    struct row row = {0};
    row.reaction = rb_api_judge_status(status, &row.number);
    return row;
}

static void text(const struct rb_node *root, const char *key, const char *other, char *out, size_t size)
{
    const struct rb_node *n = rb_node_member(root, key);
    if (!n)
        n = rb_node_member(root, other);
    if (n && n->kind == RB_NODE_STRING)
        rb_log_sanitise(n->text, n->text_len, out, size);
}

enum rb_api_reaction rb_aws_json_judge(long status, const char *body, size_t n, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    char type[128] = "", message[480] = "";
    if (rb_doc_parse_json(&doc, "answer", body, n, NULL)) {
        text(doc.root, "__type", "code", type, sizeof type);
        text(doc.root, "message", "Message", message, sizeof message);
    }
    const char *hash = strrchr(type, '#'), *code = hash ? hash + 1 : type;
    const struct row row = classify(status, code);
    rb_err_set(err, row.number, "status %ld: %s%s%s", status, code[0] ? code : "no reason given",
               message[0] ? ": " : "", message);
    return row.reaction;
}
