// The service account of a mock Compute Engine: clients get access tokens for an assertion signed with its private key.
#ifndef RB_PROVIDERS_MOCK_MOCK_GCP_ACCOUNT_H
#define RB_PROVIDERS_MOCK_MOCK_GCP_ACCOUNT_H

#include "base/errors/err.h"

#include <stddef.h>

struct rb_mock_gcp_account;

// A new 2048-bit key for project `test`.
bool rb_mock_gcp_account_generate(struct rb_mock_gcp_account **out, struct rb_err *err);
// Reads the JSON file that Google's console gives. Errors: INVALID with file and key.
bool rb_mock_gcp_account_read(const char *path, struct rb_mock_gcp_account **out, struct rb_err *err);
void rb_mock_gcp_account_destroy(struct rb_mock_gcp_account *a);

// Writes such a file (mode 0600), with this token_uri.
bool rb_mock_gcp_account_write(const struct rb_mock_gcp_account *a, const char *path, const char *token_uri,
                               struct rb_err *err);

const char *rb_mock_gcp_account_project(const struct rb_mock_gcp_account *a);
const char *rb_mock_gcp_account_email(const struct rb_mock_gcp_account *a);
const char *rb_mock_gcp_account_key_id(const struct rb_mock_gcp_account *a);
// Is it an RS256 signature of these bytes by the account's key?
bool rb_mock_gcp_account_verify(const struct rb_mock_gcp_account *a, const void *bytes, size_t n, const void *signature,
                                size_t signature_len);

#endif
