// Small texts that a run reads back; the first byte says which: l the launch log, k the lock file, e the lease of an instance
// (8 bytes of a clock, then the text), any other a node's answer about its switch (up to the first byte 255, then what ssh
// said). Refused, or within the bounds that the headers promise; what goes to a terminal is printable.
#include "fuzz.h"
#include "require.h"
#include "temp_dir.h"

#include "base/arena.h"
#include "base/limits.h"
#include "executor/controller/lease.h"
#include "executor/journal/run_lock.h"
#include "executor/launcher/launch_log.h"
#include "executor/transport/node_switch.h"

#include <string.h>
#include <unistd.h>

static void check_printable(const char *s)
{
    for (; *s; s++)
        require((unsigned char)*s >= 0x20 && (unsigned char)*s != 0x7f);
}

static void check_error(const struct rb_err *err, const char *name)
{
    require(err->code != RB_ERR_NONE && (strstr(err->message, name) || strstr(err->file, name)));
    check_printable(err->message);
}

static bool check_launch(void *ctx, const char *launch_id, const char *infra, struct rb_err *err)
{
    (void)err;
    ++*(size_t *)ctx;
    require(launch_id[0] && strlen(launch_id) < 40 && strspn(launch_id, "0123456789abcdef") == strlen(launch_id));
    require(infra[0] && !strpbrk(infra, " \t\n"));
    check_printable(infra);
    return true;
}

static void read_launches(const uint8_t *bytes, size_t n)
{
    struct rb_err err = {0};
    size_t lines = 0, read = 0;
    for (size_t i = 0; i < n; i++)
        lines += bytes[i] == '\n';
    temp_write("launches", bytes, n);
    if (rb_launch_log_each(temp_dir(), check_launch, &read, &err))
        require(read == lines); // none was passed over
    else
        check_error(&err, "launches");
}

static void read_lock(const uint8_t *bytes, size_t n)
{
    struct rb_run_lock lock;
    struct rb_err err = {0};
    char words[160];
    int fd, other;
    const char *path = temp_path("journal.db");
    temp_write("journal.db.lock", bytes, n);
    require(rb_run_lock_look(path, &lock, &err) && lock.state != RB_RUN_LOCK_HELD && lock.pid == 0);
    require(rb_run_lock_take(path, &fd, &err));
    temp_write("journal.db.lock", bytes, n);
    require(rb_run_lock_look(path, &lock, &err) && lock.state == RB_RUN_LOCK_HELD && lock.pid >= 0);
    check_printable(rb_run_lock_words(&lock, words));
    require(!rb_run_lock_take(path, &other, &err));
    check_printable(err.message);
    close(fd);
}

static void read_lease(const uint8_t *bytes, size_t n)
{
    int64_t clock_us = 0;
    if (n < 8)
        return;
    memcpy(&clock_us, bytes, 8);
    clock_us = clock_us < 0 ? -1 : clock_us;
    RB_AUTO(rb_auto_free) char *text = rb_xcalloc(n - 8 + 1, 1);
    memcpy(text, bytes + 8, n - 8);
    const enum rb_lease_state state = rb_lease_state(text, clock_us);
    require(rb_lease_state(NULL, clock_us) == RB_LEASE_NONE);
    require(clock_us >= 0 ? state != RB_LEASE_UNKNOWN : state == RB_LEASE_UNKNOWN || state == RB_LEASE_NONE);
    if (state == RB_LEASE_FRESH) // it ends after two lengths at the latest
        require(rb_lease_state(text, clock_us + INT64_C(2000000) * RB_LEASE_S) == RB_LEASE_LAPSED);
}

static void read_switch(const uint8_t *bytes, size_t n)
{
    struct rb_switch_report report;
    const uint8_t *cut = memchr(bytes, 255, n);
    const size_t answer = cut ? (size_t)(cut - bytes) : n;
    RB_AUTO(rb_auto_free) char *text = rb_xcalloc(answer + 1, 1), *said = rb_xcalloc(n - answer + 1, 1);
    memcpy(text, bytes, answer);
    if (cut)
        memcpy(said, cut + 1, n - answer - 1);
    rb_node_switch_read(text, answer, said, &report);
    require(report.state == RB_SWITCH_UNKNOWN || report.state == RB_SWITCH_ARMED ||
            report.state == RB_SWITCH_NOT_ARMED);
    require(report.state == RB_SWITCH_ARMED
                ? report.left_s >= -RB_LIMIT_DURATION_S && report.left_s <= RB_LIMIT_DURATION_S
                : report.left_s == 0);
    check_printable(report.why);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    switch (bytes[0]) {
    case 'l':
        read_launches(bytes + 1, n - 1);
        break;
    case 'k':
        read_lock(bytes + 1, n - 1);
        break;
    case 'e':
        read_lease(bytes + 1, n - 1);
        break;
    default:
        read_switch(bytes + 1, n - 1);
    }
    return 0;
}
