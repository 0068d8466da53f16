// Writes a Google service account for the clouds of the whole suite: a new RSA key takes a third of a second.
//
//     make_account FILE
#include "providers/mock/gcp/mock_gcp_account.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rb_mock_gcp_account *account;
    struct rb_err err = {0};
    if (argc != 2 || !rb_mock_gcp_account_generate(&account, &err) ||
        !rb_mock_gcp_account_write(account, argv[1], "http://127.0.0.1:1/token", &err)) {
        fprintf(stderr, "make_account: %s\n", argc == 2 ? err.message : "expected one file");
        return 1;
    }
    rb_mock_gcp_account_destroy(account);
    return 0;
}
