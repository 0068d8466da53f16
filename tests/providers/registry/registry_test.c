// Names of images, and logins for their registries. What registries answer: tests/executor/images/image_runs.py.
#include "providers/registry/login.h"
#include "providers/registry/registry.h"

#include "base/document/doc.h"
#include "base/file.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_are_read_as_docker_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *image, *registry, *path, *tag, *digest;
    } names[] = {
        {"python", "docker.io", "library/python", "latest", NULL},
        {"python:3.12-slim", "docker.io", "library/python", "3.12-slim", NULL},
        {"docker.io/pytorch/pytorch:2.4", "docker.io", "pytorch/pytorch", "2.4", NULL},
        {"docker.io/python", "docker.io", "library/python", "latest", NULL},
        {"pytorch/pytorch@" DIGEST, "docker.io", "pytorch/pytorch", "latest", DIGEST},
        {"nvcr.io/nvidia/pytorch:24.07-py3", "nvcr.io", "nvidia/pytorch", "24.07-py3", NULL},
        {"127.0.0.1:5000/a", "127.0.0.1:5000", "a", "latest", NULL},
        {"localhost/a/b:1", "localhost", "a/b", "1", NULL},
        {"r.example.org:443/a/b/c:t@" DIGEST, "r.example.org:443", "a/b/c", "t", DIGEST},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
        assert_true(rb_image_is_name(names[i].image));
        const struct rb_image_name n = rb_image_name_read(names[i].image, &arena);
        assert_string_equal(n.registry, names[i].registry);
        assert_string_equal(n.path, names[i].path);
        assert_string_equal(n.tag, names[i].tag);
        assert_int_equal(n.digest != NULL, names[i].digest != NULL);
        if (n.digest)
            assert_string_equal(n.digest, names[i].digest);
    }
}

static void what_is_no_name(void **state)
{
    (void)state;
    static const char *const texts[] = {"",         "-v",          "a b",  "a//b",   "a/",
                                        "a:",       "a@sha256:12", "a@b",  "$(x)/a", ("a@" DIGEST "0"),
                                        "@" DIGEST, "/etc/passwd", "a\nb", "a;b"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(rb_image_is_name(texts[i]));
    assert_true(rb_image_has_digest("a@" DIGEST));
    assert_true(rb_image_has_digest(DIGEST)); // the id of one that is there
    assert_false(rb_image_has_digest("a:sha256"));
}

static void keep_logins(const char *dir, const char *text, int mode)
{
    char path[128];
    struct rb_err err;
    snprintf(path, sizeof path, "%s/config.json", dir);
    assert_true(rb_write_file(path, text, strlen(text), &err));
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static void assert_login(const struct rb_job *job, const char *image, const char *login)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    assert_true(rb_registry_login(job, image, &out, &err));
    assert_string_equal(rb_buf_str(&out), login);
}

static void logins_are_found(void **state)
{
    (void)state;
    char dir[] = "/tmp/rb-registry-XXXXXX", path[128];
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_err err = {0};
    struct rb_job job = {.name = "a"};
    assert_non_null(mkdtemp(dir));
    setenv("DOCKER_CONFIG", dir, 1);
    assert_login(&job, "r.example.org/a", ""); // no file
    // "ann:one:two", "bob:hub"; "eve" without a password
    keep_logins(dir, "{\"auths\": {\"r.example.org\": {\"auth\": \"YW5uOm9uZTp0d28=\"}, \"https://index.docker.io/v1/\": "
                     "{\"auth\": \"Ym9iOmh1Yg==\"}, \"odd\": {\"auth\": \"ZXZl\"}, \"helped:1\": {}}, \"credsStore\": \"desktop\"}", 0600);
    assert_login(&job, "r.example.org/a", "ann\none:two\n");
    assert_login(&job, "python:3.12", "bob\nhub\n");
    assert_login(&job, "s.example.org/a", "");
    assert_login(&job, "helped:1/a", "");
    keep_logins(dir, "{\"auths\": {\"r.example.org\": {\"auth\": \"YW5uOm9uZTp0d28=\"}}}", 0644);
    assert_false(rb_registry_login(&job, "r.example.org/a", &out, &err)); // others may read it
    assert_int_equal(out.len, 0);
    job.image_user = "RB_TEST_USER";
    job.image_password = "RB_TEST_PASSWORD";
    setenv("RB_TEST_USER", "ann", 1);
    unsetenv("RB_TEST_PASSWORD");
    assert_false(rb_registry_login(&job, "r.example.org/a", &out, &err));
    assert_non_null(strstr(err.message, "RB_TEST_PASSWORD is not set"));
    assert_int_equal(rb_err_number(&err), RB_E_IMAGE_CREDENTIALS);
    setenv("RB_TEST_PASSWORD", "two\nlines", 1);
    assert_false(rb_registry_login(&job, "r.example.org/a", &out, &err));
    setenv("RB_TEST_PASSWORD", "s3cret", 1);
    assert_login(&job, "r.example.org/a", "ann\ns3cret\n"); // wins over the file
    snprintf(path, sizeof path, "%s/config.json", dir);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_docker_reads_them),
        cmocka_unit_test(what_is_no_name),
        cmocka_unit_test(logins_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
