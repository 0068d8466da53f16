// Any bytes as the answer of Google's token endpoint: refused, or a token that may stand in a header.
#include "providers/gcp/google_token.c" // NOLINT: its decoder is no one else's business

#include "fuzz.h"
#include "require.h"

static int64_t clock_us(void *ctx)
{
    (void)ctx;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const struct rb_loop loop = {.now_us = clock_us, .unix_us = clock_us};
    struct rb_google_tokens t = {.loop = &loop};
    struct rb_err err = {0};
    if (decode_token(&t, (const char *)bytes, n, &err))
        require(t.token && t.token[0] && is_header_text(t.token) && t.refresh_at_us <= t.expires_at_us);
    else
        require(err.code != RB_ERR_NONE && err.message[0] && !t.token);
    rb_google_token_forget(&t);
    judge_refusal(400, (const char *)bytes, n, &err);
    require(err.code != RB_ERR_NONE && err.message[0]);
    return 0;
}
