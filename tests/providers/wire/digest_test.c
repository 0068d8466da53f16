// Digests against FIPS 180 and RFC 4231, Base64 against RFC 4648.
#include "providers/wire/digest.h"
#include "tests/base/check.h"

static void sha256(void **state)
{
    (void)state;
    char hex[65];
    rb_digest_sha256("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    rb_digest_sha256(NULL, 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void hmac(void **state)
{
    (void)state;
    uint8_t mac[32];
    char hex[65];
    rb_digest_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, mac);
    rb_digest_hex(mac, sizeof mac, hex);
    assert_string_equal(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    rb_digest_hmac_sha256(NULL, 0, NULL, 0, mac);
    rb_digest_hex(mac, sizeof mac, hex);
    assert_string_equal(hex, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void base64_round_trips(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *text;
    } cases[] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32], plain[32];
        rb_base64_encode(cases[i].plain, strlen(cases[i].plain), text);
        assert_string_equal(text, cases[i].text);
        const int n = rb_base64_decode(text, strlen(text), plain);
        assert_int_equal(n, strlen(cases[i].plain));
        assert_memory_equal(plain, cases[i].plain, (size_t)n);
    }
}

static void base64_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z", "Zg=", "Zm9v\n", " Zm9", "Zm=v", "====", "Z===", "Zm9v====", "Zm9*"};
    char plain[32];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(rb_base64_decode(bad[i], strlen(bad[i]), plain), -1);
}

// Source: RFC 4122, appendix C, for the name space of DNS names; the name's UUID by Python's uuid.uuid5.
static void uuid5(void **state)
{
    (void)state;
    static const uint8_t dns[16] = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
                                    0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    char text[37];
    rb_digest_uuid5(dns, "www.example.com", text);
    assert_string_equal(text, "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

static void random_bytes_fill(void **state)
{
    (void)state;
    uint8_t a[1000] = {0}, b[1000] = {0}, zero[16] = {0};
    rb_random_bytes(a, sizeof a);
    rb_random_bytes(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a + sizeof a - sizeof zero, zero, sizeof zero); // the last chunk too
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256),         cmocka_unit_test(hmac),  cmocka_unit_test(base64_round_trips),
        cmocka_unit_test(base64_refuses), cmocka_unit_test(uuid5), cmocka_unit_test(random_bytes_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
