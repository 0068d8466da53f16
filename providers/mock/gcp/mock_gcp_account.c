// Keys by OpenSSL, files by base/doc and base/json.
#include "providers/mock/gcp/mock_gcp_account.h"
#include "base/arena.h"
#include "base/document/doc.h"
#include "base/document/json.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BITS 2048

struct rb_mock_gcp_account {
    char project[64], email[256], key_id[64];
    EVP_PKEY *key;
};

bool rb_mock_gcp_account_generate(struct rb_mock_gcp_account **out, struct rb_err *err)
{
    unsigned char id[20];
    struct rb_mock_gcp_account *a = rb_xcalloc(1, sizeof *a);
    a->key = EVP_RSA_gen(KEY_BITS);
    if (!a->key) {
        free(a);
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "OpenSSL cannot make an RSA key");
    }
    rb_random_bytes(id, sizeof id);
    rb_digest_hex(id, sizeof id, a->key_id);
    snprintf(a->project, sizeof a->project, "test");
    snprintf(a->email, sizeof a->email, "rbmock@test.iam.gserviceaccount.com");
    *out = a;
    return true;
}

void rb_mock_gcp_account_destroy(struct rb_mock_gcp_account *a)
{
    if (!a)
        return;
    EVP_PKEY_free(a->key);
    free(a);
}

// --- the file ---

static bool need_text(struct rb_map *m, const char *key, char *out, size_t size, struct rb_err *err)
{
    const struct rb_node *node;
    const char *text;
    if (!rb_map_need(m, key, &node, err) || !rb_node_string(node, &text, err))
        return false;
    if (strlen(text) >= size)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected at most %d characters", (int)size - 1);
    snprintf(out, size, "%s", text);
    return true;
}

static EVP_PKEY *key_of_pem(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIO_free(bio);
    return key;
}

static bool read_root(const struct rb_node *root, struct rb_mock_gcp_account *a, struct rb_err *err)
{
    static const char *const kinds[] = {"service_account"};
    struct rb_map m;
    const struct rb_node *kind, *pem;
    const char *text;
    int which;
    if (!rb_map_begin(&m, root, err) || !rb_map_need(&m, "type", &kind, err) ||
        !rb_node_choice(kind, kinds, 1, &which, err) ||
        !need_text(&m, "project_id", a->project, sizeof a->project, err) ||
        !need_text(&m, "client_email", a->email, sizeof a->email, err) ||
        !need_text(&m, "private_key_id", a->key_id, sizeof a->key_id, err) ||
        !rb_map_need(&m, "private_key", &pem, err) || !rb_node_string(pem, &text, err))
        return false;
    a->key = key_of_pem(text); // other members are for clients
    return (a->key && EVP_PKEY_is_a(a->key, "RSA")) ||
           rb_node_refuse(pem, err, RB_E_MOCK_CLOUD, "expected an RSA private key in PEM form");
}

bool rb_mock_gcp_account_read(const char *path, struct rb_mock_gcp_account **out, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!rb_read_file(path, 65536, &text, &n, err) || !rb_doc_parse_json(&doc, path, text, n, err))
        return false;
    struct rb_mock_gcp_account *a = rb_xcalloc(1, sizeof *a);
    bool ok = read_root(doc.root, a, err);
    if (ok)
        *out = a;
    else
        rb_mock_gcp_account_destroy(a);
    return ok;
}

static void write_json(const struct rb_mock_gcp_account *a, const char *pem, const char *token_uri, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, true);
    rb_json_put(
        &j,
        "{type: 'service_account', project_id: %s, private_key_id: %s, private_key: %s, client_email: %s,"
        "client_id: '100000000000000000000', auth_uri: 'https://accounts.google.com/o/oauth2/auth', token_uri: %s}",
        a->project, a->key_id, pem, a->email, token_uri);
    rb_buf_putc(out, '\n');
}

bool rb_mock_gcp_account_write(const struct rb_mock_gcp_account *a, const char *path, const char *token_uri,
                               struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem;
    PEM_write_bio_PKCS8PrivateKey(bio, a->key, NULL, NULL, 0, NULL, NULL);
    BIO_write(bio, "", 1); // ends the text
    BIO_get_mem_data(bio, &pem);
    write_json(a, pem, token_uri, &text);
    BIO_free(bio);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, text.data, text.len) == (ssize_t)text.len;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    return ok || rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot write %s: %s", path, strerror(saved));
}

// --- what the front asks ---

const char *rb_mock_gcp_account_project(const struct rb_mock_gcp_account *a)
{
    return a ? a->project : "test";
}

const char *rb_mock_gcp_account_email(const struct rb_mock_gcp_account *a)
{
    return a ? a->email : "test@test.iam.gserviceaccount.com";
}

const char *rb_mock_gcp_account_key_id(const struct rb_mock_gcp_account *a)
{
    return a->key_id;
}

bool rb_mock_gcp_account_verify(const struct rb_mock_gcp_account *a, const void *bytes, size_t n, const void *signature,
                                size_t signature_len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, a->key) == 1 &&
              EVP_DigestVerify(ctx, signature, signature_len, bytes, n) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}
