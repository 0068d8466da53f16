// A service account of a cloud that does not exist: a fresh key pair, its key file in a temporary home, and an
// environment without Google's variables.
#ifndef RB_TESTS_PROVIDERS_GOOGLE_ACCOUNT_H
#define RB_TESTS_PROVIDERS_GOOGLE_ACCOUNT_H

#include <stdbool.h>

#define GOOGLE_PROJECT "test-project"
#define GOOGLE_EMAIL   "node@test-project.iam.gserviceaccount.com"

void google_account_begin(void); // GOOGLE_APPLICATION_CREDENTIALS names the key file
void google_account_end(void);
int google_account_set_up(void **state); // likewise, as cmocka calls them
int google_account_tear_down(void **state);
// Another file in its place; {KEY} in the text stands for the private key as a JSON string, quotes included. mode: 0600.
void google_account_write(const char *path, const char *text, int mode);
const char *google_account_path(const char *name); // in the home; valid until the next call
// Is this "header.claims.signature" signed with the account's key? The decoded parts go out as texts of 1024 bytes.
bool google_account_signed(const char *jwt, char *out_header, char *out_claims);

#endif
