#include "executor/run/reaction.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// "" if it cannot be read.
static void read_status(int pid, char out[static 4096])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, out, 4095);
    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

// The value after "\nNAME:\t"; NULL: there is no such line.
static const char *value_of(const char *status, const char *name)
{
    char line[64];
    snprintf(line, sizeof line, "\n%s:\t", name);
    const char *at = strstr(status, line);
    return at ? at + strlen(line) : NULL;
}

static int64_t count_switches(const char *status)
{
    const char *voluntary = value_of(status, "voluntary_ctxt_switches"),
               *other = value_of(status, "nonvoluntary_ctxt_switches");
    return voluntary && other ? strtoll(voluntary, NULL, 10) + strtoll(other, NULL, 10) : -1;
}

int64_t rb_process_switches(int pid)
{
    char status[4096];
    read_status(pid, status);
    return count_switches(status);
}

enum rb_reaction rb_process_reaction(int pid, int64_t switches_before)
{
    char status[4096];
    read_status(pid, status);
    const char *state = value_of(status, "State");
    if (state && (*state == 'T' || *state == 't'))
        return RB_REACTION_STOPPED;
    return switches_before >= 0 && count_switches(status) == switches_before ? RB_REACTION_NONE : RB_REACTION_SEEN;
}
