// One set of AWS credentials: the keys that sign, and the JSON from their sources. Kept in memory only; wiped after
// use. aws_identity.h chooses the source, aws_session.h asks it over the network.
#ifndef RB_PROVIDERS_CREDENTIALS_H
#define RB_PROVIDERS_CREDENTIALS_H

#include "base/document/doc.h"
#include "base/errors/err.h"

#include <stdint.h>

struct rb_aws_credentials {
    char access_key[128];
    char secret_key[256];
    char session_token[4096];   // "": none
    int64_t expires_at_us;      // unix; -1: never
    const char *source;         // static text: "environment", "profile", ...
};

// token NULL: none. Leaves expires_at_us alone. DENIED: too long, or not fit for a header.
bool rb_aws_credentials_set(struct rb_aws_credentials *c, const char *access, const char *secret, const char *token,
                            const char *source, struct rb_err *err);
// {"AccessKeyId": .., "SecretAccessKey": .., <token_key>: .., "Expiration": ..}: a credential process (SessionToken), a
// container or an instance (Token). Unknown keys are ignored: the format is AWS's.
bool rb_aws_credentials_read(const struct rb_node *node, const char *token_key, const char *source,
                             struct rb_aws_credentials *out, struct rb_err *err);
void rb_aws_credentials_wipe(struct rb_aws_credentials *c);

#endif
