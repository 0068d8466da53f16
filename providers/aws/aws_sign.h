// Writes the headers that prove our identity to a service of AWS: Signature Version 4 over one try of a call.
#ifndef RB_PROVIDERS_AWS_SIGN_H
#define RB_PROVIDERS_AWS_SIGN_H

#include "providers/aws/credentials.h"
#include "providers/wire/api_call.h"

struct rb_aws_signing {
    const char *service, *region, *endpoint;
    const char *target_prefix; // of services with a JSON API: "AmazonSSM." before the call's name; NULL: a query service
    int64_t unix_us;           // now, by the peer's clock
};

// Signs the try and sends it out.
void rb_aws_sign(const struct rb_aws_signing *signing, const struct rb_aws_credentials *c, struct rb_api_try *t);

#endif
