// A list, and a clock.
#include "providers/mock/server/connections.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/text/units.h"

#include <stdlib.h>
#include <sys/socket.h>

struct rb_mock_connection {
    struct rb_mock_connection *next, **at; // *at points here
    int fd;
    int64_t until_us; // monotonic; INT64_MAX: no end
};

void rb_mock_connections_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
                                enum MHD_ConnectionNotificationCode what)
{
    struct rb_mock_connections *all = arg;
    struct rb_mock_connection *c = *socket_context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        c = rb_xcalloc(1, sizeof *c);
        c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        c->until_us = rb_clock_monotonic_us() + RB_MOCK_REQUEST_S * RB_US_PER_S;
        c->next = all->first;
        c->at = &all->first;
        if (c->next)
            c->next->at = &c->next;
        all->first = c;
        *socket_context = c;
    } else if (c) {
        *c->at = c->next;
        if (c->next)
            c->next->at = c->at;
        free(c);
        *socket_context = NULL;
    }
}

void rb_mock_connection_is(struct MHD_Connection *connection, enum rb_mock_connection_phase phase)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct rb_mock_connection *c = info ? info->socket_context : NULL;
    const int64_t now_us = rb_clock_monotonic_us();
    if (!c)
        return;
    c->until_us = phase == RB_MOCK_ASKING ? now_us + RB_MOCK_REQUEST_S * RB_US_PER_S
                  : phase == RB_MOCK_IDLE ? now_us + RB_MOCK_IDLE_S * RB_US_PER_S
                                          : INT64_MAX;
}

int64_t rb_mock_connections_next_us(const struct rb_mock_connections *all)
{
    int64_t next_us = INT64_MAX;
    for (const struct rb_mock_connection *c = all->first; c; c = c->next)
        if (c->until_us < next_us)
            next_us = c->until_us;
    return next_us;
}

void rb_mock_connections_cut(struct rb_mock_connections *all, int64_t now_us)
{
    for (struct rb_mock_connection *c = all->first; c; c = c->next) {
        if (c->until_us > now_us)
            continue;
        c->until_us = INT64_MAX;
        shutdown(c->fd, SHUT_RDWR);
    }
}
