// Writes the keys and addresses of a running mock cloud for its clients: as files that only the user who started it may
// read, and as lines for a shell. The printed lines do not contain the keys, because output ends up in logs.
//
//   DIR/credentials   the access key, as AWS's tools read it
//   DIR/account.json  the Google service account, where there is one and no other path was given
//   DIR/kubeconfig    the cluster and its token, where there is one
//   DIR/env           the lines
#ifndef RB_PROVIDERS_MOCK_PASSPORT_H
#define RB_PROVIDERS_MOCK_PASSPORT_H

#include "base/text/buf.h"
#include "providers/mock/gcp/mock_gcp_account.h"
#include "providers/mock/server/mock_keys.h"

struct rb_mock_passport {
    const char *dir;                     // absolute
    const struct rb_mock_key *key;
    const struct rb_mock_gcp_account *account; // NULL: none
    const char *account_path;            // where its key goes; NULL: DIR/account.json
    const char *ec2_url, *gcp_url;
    const char *k8s_url, *k8s_tls_url;   // NULL: none. The key's secret is its token
    const char *cluster, *space;         // NAME of k8s/NAME; its namespace
    const char *authority;               // of k8s_tls_url, as base64
    const char *region;                  // of EC2, NULL: none is sold there
    const char *user;                    // whom its nodes let in
};

// Writes the files (mode 0600) and appends the lines to *lines; the last of them begins with '#'.
bool rb_mock_passport_write(const struct rb_mock_passport *p, struct rb_buf *lines, struct rb_err *err);
// Removes the files in DIR: their keys are no longer valid.
void rb_mock_passport_remove(const char *dir);

#endif
