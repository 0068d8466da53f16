// Any bytes as what hands out AWS credentials over the network: metadata service, container, SSO, STS. Refused, or keys that
// may stand in a header.
#include "providers/aws/aws_session_steps.c" // NOLINT: its decoders are no one else's business

#include "fuzz.h"
#include "require.h"

static bool is_header_text(const char *text)
{
    for (; *text; text++)
        if (*text < 0x21 || *text > 0x7e)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static bool (*const decoders[])(void *arg, const char *body, size_t n, struct rb_err *err) = {
        decode_instance_token, decode_instance_role, decode_keys, decode_sso, decode_sts};
    RB_AUTO(rb_auto_free) char *body = rb_xcalloc(n + 1, 1); // answers are followed by a NUL
    memcpy(body, bytes, n);
    for (size_t i = 0; i < sizeof decoders / sizeof decoders[0]; i++) {
        struct rb_aws_session s = {.identity = {.source = "fuzz"}};
        struct rb_err err = {0};
        if (!decoders[i](&s, body, n, &err))
            require(err.code != RB_ERR_NONE && err.message[0]);
        else if (i < 2)
            require(is_header_text(s.instance_token) && is_header_text(s.instance_role));
        else
            require(s.found.access_key[0] && is_header_text(s.found.access_key) &&
                    is_header_text(s.found.session_token));
    }
    return 0;
}
