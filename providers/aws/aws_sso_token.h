// Reads the token that `aws sso login` leaves in ~/.aws/sso/cache.
#ifndef RB_PROVIDERS_AWS_SSO_TOKEN_H
#define RB_PROVIDERS_AWS_SSO_TOKEN_H

#include "base/errors/err.h"

#include <stddef.h>
#include <stdint.h>

// session: the name of the sso-session, or the start URL where the profile has none. DENIED, with the command to run:
// no token, or an expired one. *out_ends_us: when it ends, unix.
bool rb_aws_sso_token_read(const char *session, int64_t unix_us, char *out, size_t size, int64_t *out_ends_us,
                           struct rb_err *err);

#endif
