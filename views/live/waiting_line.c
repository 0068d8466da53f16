#include "views/live/waiting_line.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/text/units.h"
#include "views/live/terminal.h"
#include "views/tables/text_table.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FIRST_US  RB_US_PER_S // on a terminal; a shorter wait needs no line
#define REDRAW_US (RB_US_PER_S / 2)
#define PRINT_US  (30 * RB_US_PER_S) // elsewhere, once

struct rb_waiting_line {
    pthread_t thread;
    pthread_mutex_t lock; // of the following fields
    pthread_cond_t ended;
    bool over, drawn;
    int64_t quiet_until_us; // something else is being printed
    bool redraws; // constant, as are the following
    const char *what, *hint;
    int64_t began_us;
};

static void write_line(struct rb_waiting_line *l)
{
    char since[32], line[256];
    const int width = rb_text_width(STDERR_FILENO);
    rb_format_duration((rb_clock_monotonic_us() - l->began_us) / RB_US_PER_S * RB_US_PER_S, since);
    snprintf(line, sizeof line, "%s: %s; %s", l->what, since, l->hint);
    if (l->redraws)
        fprintf(stderr, RB_TERMINAL_WIPE_LINE "%.*s", width > 1 ? width - 1 : 1, line);
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
    l->drawn = l->redraws;
}

static void wipe(struct rb_waiting_line *l)
{
    if (!l->drawn)
        return;
    fputs(RB_TERMINAL_WIPE_LINE, stderr);
    fflush(stderr);
    l->drawn = false;
}

// Waits for `us`, or until the end.
static void wait_for(struct rb_waiting_line *l, int64_t us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const int64_t nanoseconds = until.tv_nsec + us % RB_US_PER_S * 1000;
    until.tv_sec += us / RB_US_PER_S + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    while (!l->over && pthread_cond_timedwait(&l->ended, &l->lock, &until) == 0)
        ;
}

static void *run(void *arg)
{
    struct rb_waiting_line *l = arg;
    pthread_mutex_lock(&l->lock);
    wait_for(l, l->redraws ? FIRST_US : PRINT_US);
    while (!l->over) {
        const int64_t quiet_us = l->quiet_until_us - rb_clock_monotonic_us();
        if (quiet_us > 0) {
            wait_for(l, quiet_us);
            continue;
        }
        write_line(l);
        if (!l->redraws)
            break;
        wait_for(l, REDRAW_US);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

struct rb_waiting_line *rb_waiting_line_begin(const char *what, const char *hint)
{
    struct rb_waiting_line *l = rb_xcalloc(1, sizeof *l);
    pthread_condattr_t attributes;
    l->what = what;
    l->hint = hint;
    l->redraws = rb_terminal_redraws(STDERR_FILENO);
    l->began_us = rb_clock_monotonic_us();
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&l->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&l->thread, NULL, run, l) == 0)
        return l;
    pthread_cond_destroy(&l->ended);
    pthread_mutex_destroy(&l->lock);
    free(l);
    return NULL;
}

void rb_waiting_line_wipe(struct rb_waiting_line *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    wipe(l);
    l->quiet_until_us = rb_clock_monotonic_us() + REDRAW_US;
    pthread_mutex_unlock(&l->lock);
}

void rb_waiting_line_end(struct rb_waiting_line *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->over = true;
    wipe(l);
    pthread_cond_signal(&l->ended);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->ended);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
