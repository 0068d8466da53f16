// Files: bounded reading, atomic writing, and what is said when either fails.
#include "base/document/doc.h"
#include "base/file.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static const char *in_dir(const char *name)
{
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/rb-file-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static void a_name_shows_its_kind(void **state)
{
    (void)state;
    assert_true(rb_has_ending("plans/a.json", ".json"));
    assert_true(rb_has_ending(".json", ".json"));
    assert_false(rb_has_ending("json", ".json"));
    assert_false(rb_has_ending("a.json.gz", ".json"));
    assert_true(rb_has_ending("", ""));
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct rb_err err;
    char *bytes;
    size_t n;
    for (int i = 0; i < 2; i++) { // the second time over an existing file
        assert_true(rb_write_file(in_dir("plan.json"), "a\0b", 3, &err));
        assert_true(rb_read_file(in_dir("plan.json"), 3, &bytes, &n, &err));
        assert_int_equal(n, 3);
        assert_memory_equal(bytes, "a\0b", 4); // and a NUL behind it
        free(bytes);
    }
    assert_int_equal(access(in_dir("plan.json.tmp"), F_OK), -1);
    assert_true(rb_write_file(in_dir("empty"), NULL, 0, &err));
    assert_true(rb_read_file(in_dir("empty"), 0, &bytes, &n, &err));
    assert_int_equal(n, 0);
    assert_string_equal(bytes, "");
    free(bytes);
}

static void files_past_the_limit_are_refused_unread(void **state)
{
    (void)state;
    struct rb_err err;
    char *bytes = NULL;
    size_t n;
    const int fd = open(in_dir("huge.yaml"), O_CREAT | O_WRONLY, 0600);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0); // sparse: a terabyte of nothing
    close(fd);
    assert_false(rb_read_file(in_dir("huge.yaml"), 1000, &bytes, &n, &err));
    assert_int_equal(err.code, RB_ERR_INVALID);
    assert_says(&err, "larger than the limit of 1000 bytes");
    assert_string_equal(err.file, in_dir("huge.yaml"));
    assert_null(bytes);
    struct rb_doc doc;
    assert_false(rb_doc_read(&doc, in_dir("huge.yaml"), &err));
    assert_says(&err, "limit of 4194304 bytes");
}

static void files_that_lie_about_their_size_are_bounded_too(void **state)
{
    (void)state;
    struct rb_err err;
    char *bytes;
    size_t n;
    assert_false(rb_read_file("/dev/zero", 100000, &bytes, &n, &err));
    assert_says(&err, "larger than the limit");
    if (access("/proc/self/status", R_OK) == 0) { // stat says 0 bytes
        assert_true(rb_read_file("/proc/self/status", 1 << 20, &bytes, &n, &err));
        assert_true(n > 100);
        free(bytes);
    }
}

static void failures_say_what_the_system_said(void **state)
{
    (void)state;
    struct rb_err err;
    char *bytes, expected[256];
    size_t n;
    assert_false(rb_read_file(in_dir("absent.yaml"), 10, &bytes, &n, &err));
    snprintf(expected, sizeof expected, "cannot read %s: No such file or directory", in_dir("absent.yaml"));
    assert_string_equal(err.message, expected);
    assert_int_equal(err.code, RB_ERR_NOT_FOUND);
    assert_false(rb_read_file(dir, 10, &bytes, &n, &err));
    assert_says(&err, "Is a directory");
    assert_false(rb_write_file(in_dir("no/such/dir/x"), "x", 1, &err));
    assert_says(&err, "cannot write");
    assert_int_equal(err.code, RB_ERR_IO);
}

static void a_failed_write_leaves_the_old_file(void **state)
{
    (void)state;
    struct rb_err err;
    char *bytes;
    size_t n;
    assert_true(rb_write_file(in_dir("old"), "old", 3, &err));
    assert_int_equal(mkdir(in_dir("old.tmp"), 0700), 0); // the temporary name is taken
    assert_false(rb_write_file(in_dir("old"), "new", 3, &err));
    assert_true(rb_read_file(in_dir("old"), 10, &bytes, &n, &err));
    assert_string_equal(bytes, "old");
    free(bytes);
}

enum { WRITERS = 4, WRITES = 20, SHARED_BYTES = 1 << 20 };

struct writer {
    const char *path;
    char letter;
    int n_refused;
    pthread_t thread;
};

static void *write_often(void *arg)
{
    struct writer *w = arg;
    char *bytes = malloc(SHARED_BYTES);
    memset(bytes, w->letter, SHARED_BYTES);
    struct rb_err err;
    for (int i = 0; i < WRITES; i++)
        w->n_refused += !rb_write_file(w->path, bytes, SHARED_BYTES, &err);
    free(bytes);
    return NULL;
}

// As two rbplan -o plan.json at once: what stands under the name is always whole, and one writer's.
static void writers_of_one_file_take_turns(void **state)
{
    (void)state;
    struct rb_err err;
    struct writer writers[WRITERS];
    char *path = strdup(in_dir("shared"));
    assert_true(rb_write_file(path, "", 0, &err));
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.path = path, .letter = (char)('a' + i)};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_often, &writers[i]), 0);
    }
    for (int seen = 0; seen < 500; seen++) {
        char *bytes;
        size_t n;
        assert_true(rb_read_file(path, SHARED_BYTES, &bytes, &n, &err));
        assert_true(n == 0 || (n == SHARED_BYTES && memcmp(bytes, bytes + 1, n - 1) == 0));
        free(bytes);
    }
    int n_refused = 0;
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        n_refused += writers[i].n_refused;
    }
    free(path);
    assert_int_equal(n_refused, 0);
    assert_int_equal(access(in_dir("shared.tmp"), F_OK), -1);
}

static void what_a_killed_writer_left_is_written_over(void **state)
{
    (void)state;
    struct rb_err err;
    char *bytes;
    size_t n;
    assert_true(rb_write_file(in_dir("left.tmp"), "half of something long", 22, &err));
    assert_true(rb_write_file(in_dir("left"), "whole", 5, &err));
    assert_true(rb_read_file(in_dir("left"), 5, &bytes, &n, &err));
    assert_string_equal(bytes, "whole");
    free(bytes);
    assert_int_equal(access(in_dir("left.tmp"), F_OK), -1);
}

static void the_name_chooses_the_format(void **state)
{
    (void)state;
    struct rb_err err;
    struct rb_doc doc;
    assert_true(rb_write_file(in_dir("a.json"), "a: 1", 4, &err));
    assert_false(rb_doc_read(&doc, in_dir("a.json"), &err));
    assert_true(rb_write_file(in_dir("a.yaml"), "a: 1", 4, &err));
    assert_true(rb_doc_read(&doc, in_dir("a.yaml"), &err));
    assert_string_equal(doc.file, in_dir("a.yaml"));
    rb_doc_finish(&doc);
}

static void a_byte_order_mark_is_no_text(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"m.yaml", "\xEF\xBB\xBF" "a: 1\nb: 2\n"}, {"m.json", "\xEF\xBB\xBF{\"a\": 1}"}};
    for (int i = 0; i < 2; i++) {
        struct rb_err err;
        struct rb_doc doc;
        assert_true(rb_write_file(in_dir(texts[i][0]), texts[i][1], strlen(texts[i][1]), &err));
        if (!rb_doc_read(&doc, in_dir(texts[i][0]), &err))
            fail_msg("%s: %s", texts[i][0], err.message);
        assert_string_equal(doc.root->first->key, "a");
        rb_doc_finish(&doc);
    }
}

// In a child: which number does the next file get when all three came closed, and is a write still refused?
static void a_closed_standard_stream_is_no_one_elses_number(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        rb_keep_standard_streams();
        const bool refused = write(STDOUT_FILENO, "x", 1) < 0, above = open(in_dir("a.yaml"), O_RDONLY) > STDERR_FILENO;
        _exit(refused && above ? 0 : 1);
    }
    int status;
    assert_true(child > 0);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define ASKED 100000 // times, while others lock

struct asker {
    int fd;
    atomic_int n;
};

static void *ask(void *arg)
{
    struct asker *a = arg;
    while (atomic_fetch_add(&a->n, 1) < ASKED)
        rb_file_is_locked(a->fd);
    return NULL;
}

static int open_lock(void)
{
    const int fd = open(in_dir("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void a_lock_has_one_holder(void **state)
{
    (void)state;
    const int fd = open_lock(), other = open_lock();
    assert_false(rb_file_is_locked(other));
    assert_true(rb_file_lock(fd));
    assert_true(rb_file_is_locked(other));
    assert_false(rb_file_lock(other));
    assert_int_equal(errno, EWOULDBLOCK);
    close(fd);
    assert_false(rb_file_is_locked(other));
    close(other);
    assert_false(rb_file_lock(other));
    assert_int_equal(errno, EBADF);
}

static void a_question_locks_no_one_out(void **state)
{
    (void)state;
    struct asker a = {.fd = open_lock()};
    pthread_t thread;
    int n_refused = 0;
    assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
    while (atomic_load(&a.n) < ASKED) {
        const int fd = open_lock();
        n_refused += !rb_file_lock(fd);
        close(fd);
    }
    pthread_join(thread, NULL);
    close(a.fd);
    assert_int_equal(n_refused, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(files_past_the_limit_are_refused_unread),
        cmocka_unit_test(files_that_lie_about_their_size_are_bounded_too),
        cmocka_unit_test(failures_say_what_the_system_said),
        cmocka_unit_test(a_failed_write_leaves_the_old_file),
        cmocka_unit_test(writers_of_one_file_take_turns),
        cmocka_unit_test(what_a_killed_writer_left_is_written_over),
        cmocka_unit_test(a_name_shows_its_kind),
        cmocka_unit_test(the_name_chooses_the_format),
        cmocka_unit_test(a_lock_has_one_holder),
        cmocka_unit_test(a_question_locks_no_one_out),
        cmocka_unit_test(a_byte_order_mark_is_no_text),
        cmocka_unit_test(a_closed_standard_stream_is_no_one_elses_number),
    };
    return cmocka_run_group_tests_name("file", tests, make_dir, remove_dir);
}
