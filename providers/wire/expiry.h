// When a credential ends, as it says itself. Whether it is genuine is for its server to judge.
#ifndef RB_PROVIDERS_EXPIRY_H
#define RB_PROVIDERS_EXPIRY_H

#include "base/document/doc.h"

#include <stdint.h>

// The claims of a JSON Web Token, for the caller to finish. False: it is none.
bool rb_jwt_claims(const char *token, struct rb_doc *out);
// unix; -1: it does not end, or does not say when.
int64_t rb_jwt_ends_us(const char *token);
int64_t rb_certificate_ends_us(const char *pem); // of the first certificate in it

#endif
