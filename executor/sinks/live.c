#include "executor/sinks/live.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "executor/sinks/sink_cursor.h"
#include "executor/sinks/sink_file.h"
#include "executor/sinks/sink_feed.h"
#include "profiles/job/job_sinks.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    WAIT_S = 30,
    SAY_AFTER_US = 2000000, // that it waits
    STEP_US = 20000,
};

struct rb_sinks_live {
    const struct rb_run_files *files;
    pid_t *children; // [n], 0: not started or reaped
    int n;
};

// --- starting

static bool is_for_exporter(const char *entry)
{
    static const char *const prefixes[] = {
        "MLFLOW_TRACKING_", "XDG_STATE_HOME=", "SSL_CERT_", "AWS_CA_BUNDLE=", "http_proxy=", "https_proxy=",
        "HTTPS_PROXY=",     "no_proxy=",       "NO_PROXY=", "all_proxy=",     "ALL_PROXY="};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

// What a tool sees, and what leads to a tracking server. No cloud's credentials.
static char **exporter_env(struct rb_arena *arena)
{
    char **tool = rb_child_tool_env(arena);
    size_t n_tool = 0, n_all = 0, n = 0;
    while (tool[n_tool])
        n_tool++;
    while (environ && environ[n_all])
        n_all++;
    char **env = rb_arena_array(arena, n_tool + n_all + 1, sizeof *env);
    for (size_t i = 0; i < n_tool; i++)
        env[n++] = tool[i];
    for (size_t i = 0; i < n_all; i++)
        if (is_for_exporter(environ[i]))
            env[n++] = environ[i];
    return env;
}

static int open_log(const struct rb_run_files *f)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/sinks.log", f->dir);
    return open(rb_buf_str(&path), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// errno, or 0.
static int start_program(const struct rb_run_files *f, const char *sink, const int fds[3], pid_t *out)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return errno;
    self[n] = '\0';
    const char *argv[] = {self, "export", "--follow", "--to", sink, f->run_id, "--state-dir", f->root, NULL};
    return rb_child_start(argv, exporter_env(&arena), fds, out);
}

static int start(const struct rb_run_files *f, const char *sink, pid_t *out)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC), log = open_log(f);
    int why = null < 0 || log < 0 ? errno : 0;
    if (!why)
        why = start_program(f, sink, (int[3]){null, log, log}, out);
    if (null >= 0)
        close(null);
    if (log >= 0)
        close(log);
    return why;
}

struct rb_sinks_live *rb_sinks_live_begin(const struct rb_run_files *f)
{
    const struct rb_sink_list *sinks = &f->plan.job->sinks;
    if (sinks->n == 0)
        return NULL;
    struct rb_sinks_live *s = rb_xcalloc(1, sizeof *s);
    s->files = f;
    s->n = sinks->n;
    s->children = rb_xcalloc((size_t)sinks->n, sizeof *s->children);
    for (int i = 0; i < sinks->n; i++) {
        const char *name = rb_sink_names[sinks->items[i].kind];
        const int why = start(f, name, &s->children[i]);
        if (why) {
            s->children[i] = 0;
            rb_warn("results are not sent to %s while the run goes on: %s; afterwards: rbrun export %s", name,
                    strerror(why), f->run_id);
        }
    }
    return s;
}

// --- the end

// How many have not ended yet.
static int reap(struct rb_sinks_live *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->children[i] == 0)
            continue;
        const pid_t got = waitpid(s->children[i], NULL, WNOHANG);
        if (got == s->children[i] || (got < 0 && errno != EINTR))
            s->children[i] = 0;
        else
            n++;
    }
    return n;
}

static void signal_all(const struct rb_sinks_live *s, int signal)
{
    for (int i = 0; i < s->n; i++)
        if (s->children[i] > 0)
            kill(s->children[i], signal);
}

// Tests do not wait half a minute (docs/HACKING.md).
static int64_t longest_us(void)
{
    const char *seconds = getenv("RB_TEST_SINKS_S");
    return (seconds && atoll(seconds) > 0 ? atoll(seconds) : WAIT_S) * 1000000;
}

// SIGTERM means: the run is over, send the rest.
static void wait_for_all(struct rb_sinks_live *s)
{
    const int64_t began_us = rb_clock_monotonic_us(), longest = longest_us();
    bool said = false;
    reap(s);
    signal_all(s, SIGTERM);
    while (reap(s) > 0 && rb_clock_monotonic_us() - began_us < longest) {
        if (!said && rb_clock_monotonic_us() - began_us > SAY_AFTER_US) {
            rb_info("sending the last results, for %d s at most; Ctrl-C leaves that to rbrun export",
                    (int)(longest / 1000000));
            said = true;
        }
        if (nanosleep(&(struct timespec){0, STEP_US * 1000}, NULL) != 0)
            break;
    }
    signal_all(s, SIGKILL);
    for (int i = 0; i < s->n; i++)
        if (s->children[i] > 0)
            waitpid(s->children[i], NULL, 0);
}

static int64_t count_events(const struct rb_run_files *f)
{
    struct rb_sink_feed *feed;
    const struct rb_sink_ops nothing = {0};
    bool any;
    int64_t n = 0;
    if (!rb_sink_feed_open(f, false, &feed, NULL))
        return 0;
    if (rb_sink_feed_play(feed, &nothing, NULL, &any, NULL))
        n = rb_sink_feed_events(feed);
    rb_sink_feed_close(feed);
    return n;
}

static void warn_of_missing(const struct rb_run_files *f)
{
    RB_AUTO(rb_buf_finish) struct rb_buf lines = RB_BUF_INIT;
    rb_sinks_behind(f, count_events(f), false, &lines);
    for (char *line = lines.data; line && *line;) {
        char *end = strchr(line, '\n');
        *end = '\0';
        rb_warn("%s", line);
        line = end + 1;
    }
}

void rb_sinks_live_end(struct rb_sinks_live *s, bool left)
{
    if (!s)
        return;
    if (!left) {
        wait_for_all(s);
        warn_of_missing(s->files);
    }
    free(s->children);
    free(s);
}
