#include "google_account.h"

#include "base/text/buf.h"
#include "base/file.h"
#include "base/document/json.h"
#include "providers/wire/digest.h"
#include "tests/base/remove_tree.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static char directory[64], path[256];
static EVP_PKEY *key;

static bool is_googles(const char *variable)
{
    static const char *const prefixes[] = {"GOOGLE_", "GCLOUD_", "GCE_", "NO_GCE_", "CLOUDSDK_", "RB_GCP_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

// From the start again after each, as unsetenv moves the rest.
static void unset_variables(void)
{
    for (char **e = environ; *e;) {
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*e, "="), *e);
        if (is_googles(name)) {
            unsetenv(name);
            e = environ;
        } else {
            e++;
        }
    }
}

const char *google_account_path(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

// The private key as a JSON string.
static void put_key(struct rb_buf *out)
{
    char *pem;
    BIO *bio = BIO_new(BIO_s_mem());
    if (!bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1 || BIO_write(bio, "", 1) != 1)
        abort();
    BIO_get_mem_data(bio, &pem);
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_string(&j, pem);
    BIO_free(bio);
}

void google_account_write(const char *file, const char *text, int mode)
{
    struct rb_buf whole = RB_BUF_INIT;
    const char *mark = strstr(text, "{KEY}");
    rb_buf_append(&whole, text, mark ? (size_t)(mark - text) : strlen(text));
    if (mark) {
        put_key(&whole);
        rb_buf_puts(&whole, mark + strlen("{KEY}"));
    }
    if (!rb_write_file(file, whole.data, whole.len, NULL) || chmod(file, (mode_t)mode) != 0)
        abort();
    rb_buf_finish(&whole);
}

void google_account_begin(void)
{
    unset_variables();
    strcpy(directory, "/tmp/rb-google-XXXXXX");
    if (!mkdtemp(directory))
        abort();
    setenv("HOME", directory, 1);
    setenv("NO_GCE_CHECK", "true", 1); // wherever the tests run
    if (!key)
        key = EVP_RSA_gen(2048);
    google_account_write(google_account_path("key.json"),
                         "{\"type\": \"service_account\", \"project_id\": \"" GOOGLE_PROJECT
                         "\", \"private_key_id\": \"k1\", \"private_key\": {KEY}, \"client_email\": \"" GOOGLE_EMAIL
                         "\", \"token_uri\": \"https://oauth2.googleapis.com/token\"}",
                         0600);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", google_account_path("key.json"), 1);
}

void google_account_end(void)
{
    remove_tree(directory);
    unset_variables();
    EVP_PKEY_free(key);
    key = NULL;
}

int google_account_set_up(void **state)
{
    (void)state;
    google_account_begin();
    return 0;
}

int google_account_tear_down(void **state)
{
    (void)state;
    google_account_end();
    return 0;
}

// Base64 of the URL's alphabet, padding restored. Returns the length.
static int decode(const char *text, size_t n, char *out)
{
    char padded[2048];
    if (n + 4 > sizeof padded)
        return -1;
    for (size_t i = 0; i < n; i++)
        padded[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
    while (n % 4 != 0)
        padded[n++] = '=';
    const int len = rb_base64_decode(padded, n, out);
    if (len >= 0)
        out[len] = '\0';
    return len;
}

bool google_account_signed(const char *jwt, char *out_header, char *out_claims)
{
    char signature[1024];
    const char *first = strchr(jwt, '.'), *second = first ? strchr(first + 1, '.') : NULL;
    if (!second || decode(jwt, (size_t)(first - jwt), out_header) < 0 ||
        decode(first + 1, (size_t)(second - first - 1), out_claims) < 0)
        return false;
    const int n = decode(second + 1, strlen(second + 1), signature);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    const bool ok = n > 0 && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                    EVP_DigestVerify(ctx, (const unsigned char *)signature, (size_t)n, (const unsigned char *)jwt,
                                     (size_t)(second - jwt)) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}
