// Issues and checks OAuth2 tokens for a mock Compute Engine: POST /token trades an assertion (or a refresh token) for
// an access token that expires; requests carry it as `Authorization: Bearer`. Source: RFC 7523; Google, "Using OAuth
// 2.0 for Server to Server Applications"; errors as its token endpoint gives them.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_TOKEN_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_TOKEN_H

#include "base/arena.h"
#include "providers/mock/cloud/cloud.h"
#include "providers/mock/cloud/exchange.h"
#include "providers/mock/gcp/mock_gcp_account.h"

struct rb_mock_gcp_tokens {
    struct rb_cloud *cloud;
    const struct rb_mock_gcp_account *account; // NULL: no assertion holds
    const char *fixed;      // a bearer and a refresh token that always holds; NULL: none
    struct rb_mock_gcp_token {
        char text[48];
        int64_t expires_us; // on the host's clock: clients count by theirs, whatever --speed is
    } *list;                // [n]
    int n, cap;
};

void rb_mock_gcp_tokens_finish(struct rb_mock_gcp_tokens *t);

// A new token, as an answer.
void rb_mock_gcp_token_grant(struct rb_mock_gcp_tokens *t, int64_t unix_us, struct rb_exchange_answer *out);
// The token endpoint. unix_us: the host's clock, by which assertions are dated.
void rb_mock_gcp_token_answer(struct rb_mock_gcp_tokens *t, const struct rb_exchange_request *request, int64_t unix_us,
                              struct rb_arena *arena, struct rb_exchange_answer *out);
// Does the request carry a token that holds? *out_why is a sentence if not.
bool rb_mock_gcp_token_check(const struct rb_mock_gcp_tokens *t, const struct rb_exchange_request *request,
                             int64_t unix_us, const char **out_why);

#endif
