// Finds Google's application default credentials and keeps them in memory only. Order: the file
// GOOGLE_APPLICATION_CREDENTIALS names, the file of `gcloud auth application-default login`, the metadata service of a
// machine in their cloud. Files must belong to the user; secrets are wiped.
#ifndef RB_PROVIDERS_GOOGLE_CREDENTIALS_H
#define RB_PROVIDERS_GOOGLE_CREDENTIALS_H

#include "base/errors/err.h"

enum rb_google_identity {
    RB_GOOGLE_SERVICE_ACCOUNT, // signs its own assertion with a private key
    RB_GOOGLE_AUTHORIZED_USER, // a person, by refresh token
    RB_GOOGLE_METADATA,        // the machine's own service account
};

struct rb_google_credentials {
    enum rb_google_identity identity;
    char project[64];          // "": not given
    char quota_project[64];    // a person's: the project charged for the requests; "": none
    char token_endpoint[512];  // where tokens are issued; for a machine: the metadata service
    char email[256], key_id[128]; // service account
    char *private_key;         // PEM
    char client_id[256], client_secret[256], refresh_token[2048]; // authorized user
    char source[32];           // "service account", ...; for traces
};

// loopback: the cloud itself is on loopback (a mock), so its file may send us there for tokens; else only Google's own
// token endpoint is asked. RB_GCP_TOKEN_ENDPOINT overrides it (https, or http to loopback). DENIED with the remedy when
// there are none; a file of a kind that is not supported is an error, not a fall-through.
bool rb_google_credentials_load(bool loopback, struct rb_google_credentials *out, struct rb_err *err);
void rb_google_credentials_wipe(struct rb_google_credentials *c); // frees and overwrites; accepts a zeroed one

#endif
