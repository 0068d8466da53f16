// Signature Version 4 against published and independently computed vectors, with the intermediate hashes.
#include "base/text/buf.h"
#include "providers/aws/sigv4.h"
#include "providers/wire/digest.h"
#include "providers/wire/percent.h"
#include "tests/base/check.h"

static const char access_key[] = "AKIDEXAMPLE";
static const char secret_key[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

// AWS test suite: post-x-www-form-urlencoded.
static const struct rb_sigv4_header form_headers[] = {
    {"Content-Type", "application/x-www-form-urlencoded"},
    {"Host", "example.amazonaws.com"},
    {"X-Amz-Date", "20150830T123600Z"},
};
static const struct rb_sigv4_request form_request = {
    .method = "POST",
    .path = "/",
    .query = "",
    .headers = form_headers,
    .n_headers = 3,
    .body = "Param1=value1",
    .body_len = 13,
    .amz_date = "20150830T123600Z",
    .region = "us-east-1",
    .service = "service",
};

// AWS test suite: post-sts-header-before.
static const struct rb_sigv4_header sts_headers[] = {
    {"Host", "example.amazonaws.com"},
    {"X-Amz-Date", "20150830T123600Z"},
    {"X-Amz-Security-Token",
     "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwt"
     "hAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVX"
     "AkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/"
     "oLxBA=="},
};
static const struct rb_sigv4_request sts_request = {
    .method = "POST",
    .path = "/",
    .query = "",
    .headers = sts_headers,
    .n_headers = 3,
    .body = "",
    .body_len = 0,
    .amz_date = "20150830T123600Z",
    .region = "us-east-1",
    .service = "service",
};

// The shape of our own calls; the expected hashes were computed with Python's hashlib and hmac.
static const char ec2_body[] = "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=tag%3Arb%3Arun-id&Filter.1."
                               "Value.1=r-01J&MaxResults=1000";
static const struct rb_sigv4_header ec2_headers[] = {
    {"Host", "ec2.us-west-2.amazonaws.com"},
    {"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"},
    {"X-Amz-Date", "20260101T000000Z"},
    {"X-Amz-Security-Token", "TOKEN+/=example"},
};
static const struct rb_sigv4_request ec2_request = {
    .method = "POST",
    .path = "/",
    .query = "",
    .headers = ec2_headers,
    .n_headers = 4,
    .body = ec2_body,
    .body_len = sizeof ec2_body - 1,
    .amz_date = "20260101T000000Z",
    .region = "us-west-2",
    .service = "ec2",
};

static void published_vectors(void **state)
{
    (void)state;
    char signature[65];
    rb_sigv4_signature(&form_request, secret_key, signature, NULL);
    assert_string_equal(signature, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
    rb_sigv4_signature(&sts_request, secret_key, signature, NULL);
    assert_string_equal(signature, "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

static void intermediate_hashes(void **state)
{
    (void)state;
    char body[65], signature[65], canonical[65];
    rb_digest_sha256(ec2_body, sizeof ec2_body - 1, body);
    assert_string_equal(body, "ca94f9070e0ce933237b56bb2899bd593a7389b9eeca826610c1db795a069604");
    rb_sigv4_signature(&ec2_request, secret_key, signature, canonical);
    assert_string_equal(canonical, "5f64c79e4749e578e0dc81d276c6b1dbed19509eb3b8d055f2ac3d4e0ded003f");
    assert_string_equal(signature, "0735d9847460424bcf61153ecb6f4fea7614b88a30ff5aab50ca9e68b96b0038");
}

static void chain(uint8_t key[32], const char *text)
{
    rb_digest_hmac_sha256(key, 32, text, strlen(text), key);
}

static void signing_key(void **state)
{
    (void)state;
    static const char seed[] = "AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    uint8_t key[32];
    rb_digest_hmac_sha256(seed, sizeof seed - 1, "20260101", 8, key);
    chain(key, "us-west-2");
    chain(key, "ec2");
    chain(key, "aws4_request");
    char hex[65];
    rb_digest_hex(key, sizeof key, hex);
    assert_string_equal(hex, "5aa9cec7a694847a382eb86dab0391fe2b567bff424a8531cfe76dc37f9ec5ad");
}

static void authorization_header(void **state)
{
    (void)state;
    struct rb_buf out = RB_BUF_INIT;
    rb_sigv4_authorization(&ec2_request, access_key, secret_key, &out);
    assert_string_equal(out.data, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-west-2/ec2/aws4_request, "
                                  "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
                                  "Signature=0735d9847460424bcf61153ecb6f4fea7614b88a30ff5aab50ca9e68b96b0038");
    rb_buf_finish(&out);
}

static void signature_of(const struct rb_sigv4_header *headers, int n, char out_hex[65])
{
    struct rb_sigv4_request r = form_request;
    r.headers = headers;
    r.n_headers = n;
    rb_sigv4_signature(&r, secret_key, out_hex, NULL);
}

static void headers_are_normalised(void **state)
{
    (void)state;
    static const struct rb_sigv4_header messy[] = {
        {"x-amz-date", "20150830T123600Z  "},
        {"hOST", " example.amazonaws.com"},
        {"content-type", "\tapplication/x-www-form-urlencoded"},
    };
    char signature[65];
    signature_of(messy, 3, signature);
    assert_string_equal(signature, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");

    static const struct rb_sigv4_header repeated[] = {{"My", "value1"}, {"Host", "h"}, {"my", "a   b"}};
    static const struct rb_sigv4_header joined[] = {{"host", "h"}, {"my", "value1,a b"}};
    char expected[65];
    signature_of(repeated, 3, signature);
    signature_of(joined, 2, expected);
    assert_string_equal(signature, expected);
}

static void every_part_matters(void **state)
{
    (void)state;
    struct rb_sigv4_request changed[8];
    for (int i = 0; i < 8; i++)
        changed[i] = form_request;
    changed[0].method = "GET";
    changed[1].path = "/a";
    changed[2].query = "a=b";
    changed[3].n_headers = 2;
    changed[4].body_len = 12;
    changed[5].amz_date = "20150831T123600Z";
    changed[6].region = "us-east-2";
    changed[7].service = "ec2";
    for (int i = 0; i < 8; i++) {
        char signature[65];
        rb_sigv4_signature(&changed[i], secret_key, signature, NULL);
        assert_string_not_equal(signature, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
    }
}

static const char *volatile no_text; // NULL

static void percent_encoding(void **state)
{
    (void)state;
    struct rb_buf out = RB_BUF_INIT;
    static const char text[] = "aZ09-_.~ +/=:\xc3\xa9\0x";
    rb_percent_encode(text, sizeof text - 1, &out);
    assert_string_equal(out.data, "aZ09-_.~%20%2B%2F%3D%3A%C3%A9%00x");
    rb_buf_clear(&out);
    rb_percent_put(&out, "/p/%s?a=%s&n.%d=%jd&none=%s&b=%s", "z/../x?y", "1&2", -3, INT64_MAX, no_text, "");
    assert_string_equal(out.data, "/p/z%2F..%2Fx%3Fy?a=1%262&n.-3=9223372036854775807&b=");
    rb_buf_clear(&out);
    rb_percent_put(&out, "a=1&none=%s", no_text);
    assert_string_equal(out.data, "a=1");
    rb_buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(intermediate_hashes),
        cmocka_unit_test(signing_key),
        cmocka_unit_test(authorization_header),
        cmocka_unit_test(headers_are_normalised),
        cmocka_unit_test(every_part_matters),
        cmocka_unit_test(percent_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
