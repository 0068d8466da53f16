// Requests to the mock's EC2 front, signed as a client would.
#ifndef RB_TESTS_MOCK_SIGNED_H
#define RB_TESTS_MOCK_SIGNED_H

#include "base/text/buf.h"
#include "providers/mock/ec2/mock_ec2.h"
#include "providers/mock/gcp/mock_gcp.h"

#include <stdint.h>

struct signing {
    const char *access_key, *secret_key, *region;
    int64_t unix_us; // date of the signature
    const char *host;
};

// "YYYYMMDDTHHMMSSZ"
void amz_date(int64_t unix_us, char out[static 17]);
// Authorization header of POST / with this body; signs content-type, host and x-amz-date.
void sign_form(const struct signing *s, const char *body, struct rb_buf *out_authorization);
// A POST to / of AWS's JSON 1.1, as the SDKs sign it; out->body is replaced by the answer's.
void ask_json(const struct rb_mock_ec2 *ec2, const struct signing *s, const char *service, const char *target,
              const char *body, struct rb_exchange_answer *out);
// Google's, with the token of a mock cloud that was given no account; likewise.
void ask_google(struct rb_mock_gcp *gcp, const char *method, const char *path, const char *query, const char *body,
                int64_t at_us, struct rb_exchange_answer *out);
// Fails with the answer in sight.
void expect_words(const struct rb_exchange_answer *answer, int status, const char *words);
// Appends `&name=value`, percent-encoded.
void add_parameter(struct rb_buf *form, const char *name, const char *value);

#define FORM_TYPE "application/x-www-form-urlencoded; charset=utf-8"

#endif
