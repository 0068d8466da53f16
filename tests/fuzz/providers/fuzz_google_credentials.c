// Any bytes as application default credentials: refused with file and remedy, or an identity with all that it needs.
#include "providers/gcp/google_credentials.h"

#include "fuzz.h"
#include "require.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *private_file(const uint8_t *bytes, size_t n)
{
    static char path[64];
    static FILE *file;
    if (!file) {
        snprintf(path, sizeof path, "/tmp/rb-fuzz-credentials-%d", (int)getpid());
        file = fopen(path, "w+");
        require(file && fchmod(fileno(file), 0600) == 0);
    }
    require(ftruncate(fileno(file), 0) == 0 && pwrite(fileno(file), bytes, n, 0) == (ssize_t)n);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_google_credentials c = {0};
    struct rb_err err = {0};
    const char *path = private_file(bytes, n);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", path, 1);
    if (!rb_google_credentials_load(true, &c, &err)) {
        require(err.code != RB_ERR_NONE && err.message[0]);
    } else {
        require(c.token_endpoint[0]);
        require(c.identity != RB_GOOGLE_SERVICE_ACCOUNT || (c.private_key && c.email[0]));
        require(c.identity != RB_GOOGLE_AUTHORIZED_USER || (c.client_id[0] && c.refresh_token[0]));
    }
    rb_google_credentials_wipe(&c);
    return 0;
}
