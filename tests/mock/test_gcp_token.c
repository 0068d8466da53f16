// The token endpoint: which assertions open the door, which do not, and for how long a token holds.
#include "base/document/json.h"
#include "clouds.h"
#include "providers/mock/gcp/mock_gcp_token.h"
#include "providers/wire/digest.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define NOW_S  INT64_C(1767225600)
#define PUBLIC "https://oauth2.googleapis.com/token"
#define SCOPE  "https://www.googleapis.com/auth/compute"

static struct small_cloud w;
static struct rb_mock_gcp_tokens tokens;
static struct rb_mock_gcp_account *account;
static EVP_PKEY *key;

static EVP_PKEY *key_of(const char *path)
{
    struct rb_doc doc;
    struct rb_map m;
    struct rb_err err;
    const char *pem;
    assert_true(rb_doc_read(&doc, path, &err));
    assert_true(rb_map_begin(&m, doc.root, &err) && rb_node_string(rb_map_get(&m, "private_key"), &pem, &err));
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *read = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIO_free(bio);
    rb_doc_finish(&doc);
    return read;
}

static int setup(void **state)
{
    (void)state;
    char path[] = "/tmp/rbmock-account-XXXXXX";
    struct rb_err err;
    struct stat st;
    close(mkstemp(path));
    small_cloud_setup(&w, "token_lifetime_s: 600\n", 0);
    assert_true(rb_mock_gcp_account_generate(&account, &err));
    assert_true(rb_mock_gcp_account_write(account, path, "http://127.0.0.1:1/token", &err));
    rb_mock_gcp_account_destroy(account);
    assert_true(rb_mock_gcp_account_read(path, &account, &err)); // what was written can be given back
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    key = key_of(path);
    unlink(path);
    tokens = (struct rb_mock_gcp_tokens){.cloud = w.cloud, .account = account};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    EVP_PKEY_free(key);
    rb_mock_gcp_account_destroy(account);
    rb_mock_gcp_tokens_finish(&tokens);
    small_cloud_teardown(&w);
    return 0;
}

static void put_url_base64(const void *bytes, size_t n, struct rb_buf *out)
{
    char *text = rb_arena_alloc(&w.arena, 4 * ((n + 2) / 3) + 1);
    rb_base64_encode(bytes, n, text);
    for (char *c = text; *c && *c != '='; c++)
        rb_buf_putc(out, *c == '+' ? '-' : *c == '/' ? '_' : *c);
}

struct assertion {
    const char *header, *iss, *aud, *scope;
    int64_t iat, exp;
};

static const struct assertion good = {
    "{\"alg\":\"RS256\",\"typ\":\"JWT\"}", "rbmock@test.iam.gserviceaccount.com", PUBLIC, SCOPE, NOW_S, NOW_S + 3600};

static void sign(const struct assertion *a, struct rb_buf *out)
{
    unsigned char signature[512];
    size_t n = sizeof signature;
    const char *claims =
        rb_arena_printf(&w.arena, "{\"iss\":\"%s\",\"aud\":\"%s\",\"scope\":\"%s\",\"iat\":%lld,\"exp\":%lld}", a->iss,
                        a->aud, a->scope, (long long)a->iat, (long long)a->exp);
    put_url_base64(a->header, strlen(a->header), out);
    rb_buf_putc(out, '.');
    put_url_base64(claims, strlen(claims), out);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_true(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(ctx, signature, &n, (const unsigned char *)out->data, out->len) == 1);
    EVP_MD_CTX_free(ctx);
    rb_buf_putc(out, '.');
    put_url_base64(signature, n, out);
}

// The endpoint's answer to a form; its status.
static int post(const char *form, struct rb_buf *out)
{
    static const struct rb_sigv4_header headers[] = {{"Host", "127.0.0.1:8901"}};
    const struct rb_exchange_request r = {.method = "POST",
                                          .path = "/token",
                                          .query = "",
                                          .headers = headers,
                                          .n_headers = 1,
                                          .body = form,
                                          .body_len = strlen(form)};
    struct rb_exchange_answer answer = {0};
    rb_mock_gcp_token_answer(&tokens, &r, NOW_S * S, &w.arena, &answer);
    rb_buf_append(out, rb_buf_str(&answer.body), answer.body.len);
    rb_buf_finish(&answer.body);
    return answer.status;
}

static int present(const char *assertion, struct rb_buf *out)
{
    return post(rb_arena_printf(&w.arena,
                                "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%s",
                                assertion),
                out);
}

static int trade(const struct assertion *a, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    sign(a, &text);
    return present(rb_buf_str(&text), out);
}

static bool holds(const char *token, int64_t unix_us)
{
    const char *why;
    const struct rb_sigv4_header headers[] = {{"Authorization", rb_arena_printf(&w.arena, "Bearer %s", token)}};
    const struct rb_exchange_request r = {.headers = headers, .n_headers = 1};
    return rb_mock_gcp_token_check(&tokens, &r, unix_us, &why);
}

static void a_signed_assertion_gets_a_token_that_expires(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char token[64];
    assert_int_equal(trade(&good, &out), 200);
    assert_int_equal(sscanf(rb_buf_str(&out), "{\"access_token\":\"%63[^\"]\",\"expires_in\":600,", token), 1);
    assert_true(holds(token, NOW_S * S));
    assert_true(holds(token, (NOW_S + 600) * S - 1));
    assert_false(holds(token, (NOW_S + 600) * S));
    assert_false(holds("test", NOW_S * S)); // only where it was asked for
    struct assertion here = good;
    here.aud = "http://127.0.0.1:8901/token";
    assert_int_equal(trade(&here, &out), 200);
    struct assertion plain = good;
    plain.header = "{\"alg\":\"RS256\"}"; // google-auth-library for Node.js sends no typ
    assert_int_equal(trade(&plain, &out), 200);
}

static void other_assertions_are_refused(void **state)
{
    (void)state;
    struct assertion bad[9];
    static const char *const words[] = {"issuer", "audience",  "short-lived", "short-lived", "short-lived",
                                        "scope",  "Signature", "Signature",   "Signature"};
    for (int k = 0; k < 9; k++)
        bad[k] = good;
    bad[0].iss = "somebody@else.iam.gserviceaccount.com";
    bad[1].aud = "https://example.com/token";
    bad[2].exp = NOW_S + 3601;
    bad[3].iat = NOW_S - 7200, bad[3].exp = NOW_S - 3600;
    bad[4].iat = NOW_S + 1200, bad[4].exp = NOW_S + 4800;
    bad[5].scope = "https://www.googleapis.com/auth/drive";
    bad[6].header = "{\"alg\":\"none\",\"typ\":\"JWT\"}";
    bad[7].header = "{\"alg\":\"RS256\",\"typ\":\"JWT\",\"kid\":\"another\"}";
    bad[8].header = "{\"alg\":\"RS256\",\"typ\":\"JWE\"}";
    for (int k = 0; k < 9; k++) {
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        if (trade(&bad[k], &out) != 400 || !strstr(rb_buf_str(&out), "invalid_grant") ||
            !strstr(rb_buf_str(&out), words[k]))
            fail_msg("%d: expected %s, got %s", k, words[k], rb_buf_str(&out));
    }
    assert_int_equal(tokens.n, 0);
}

// One bit of a signed text changed, anywhere.
static void a_changed_assertion_is_noticed(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    sign(&good, &text);
    for (size_t k = 0; k < text.len - 2; k += 7) { // the last characters hold bits that mean nothing
        RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
        char old = text.data[k];
        text.data[k] = old == 'A' ? 'B' : 'A';
        if (present(rb_buf_str(&text), &out) != 400)
            fail_msg("character %zu may be anything", k);
        text.data[k] = old;
    }
}

static void other_grants_are_refused(void **state)
{
    (void)state;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    static const char refresh[] = "grant_type=refresh_token&client_id=test&client_secret=test&refresh_token=test";
    assert_int_equal(post(refresh, &out), 400); // not beside an account
    assert_int_equal(post("grant_type=password&username=u", &out), 400);
    assert_int_equal(post("", &out), 400);
    assert_int_equal(present("a.b", &out), 400);
    assert_int_equal(present("..", &out), 400);
    tokens.account = NULL;
    assert_int_equal(post(refresh, &out), 400); // no one said that `test` opens anything
    assert_false(holds("test", NOW_S * S));
    tokens.fixed = "test";
    assert_int_equal(post(refresh, &out), 200);
    assert_int_equal(post("grant_type=refresh_token&client_id=test&client_secret=test&refresh_token=x", &out), 400);
    assert_true(holds("test", NOW_S * S));
    assert_false(holds("tes", NOW_S * S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signed_assertion_gets_a_token_that_expires, setup, teardown),
        cmocka_unit_test_setup_teardown(other_assertions_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_changed_assertion_is_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(other_grants_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
