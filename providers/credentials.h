// AWS credentials, kept in memory only. Order: environment, then the shared credentials and config files with profiles,
// then credential_process. Files must belong to the user; secrets are wiped on finish.
#ifndef RB_PROVIDERS_CREDENTIALS_H
#define RB_PROVIDERS_CREDENTIALS_H

#include "base/err.h"

#include <stdint.h>

struct rb_aws_credentials {
    char access_key[128];
    char secret_key[256];
    char session_token[4096];   // "": none
    int64_t expires_at_us;      // unix; -1: never
    const char *source;         // static text: "environment", "profile", ...
};

// DENIED with the remedy when none is found; an access key without a secret is an error, not a fall-through.
bool rb_aws_credentials_load(struct rb_aws_credentials *out, struct rb_err *err);
void rb_aws_credentials_wipe(struct rb_aws_credentials *c);

#endif
