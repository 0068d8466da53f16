// Closes connections to a mock cloud that take too long: each has a deadline. A request must be complete within a
// limited time after its beginning, however slowly it arrives, and a connection that stays open without a request is
// closed. Together with libmicrohttpd's limit on their number, that bounds what half-open connections can hold.
#ifndef RB_PROVIDERS_MOCK_CONNECTIONS_H
#define RB_PROVIDERS_MOCK_CONNECTIONS_H

#include <microhttpd.h>
#include <stdint.h>

#define RB_MOCK_REQUEST_S 30  // from the first byte of a request to its last, and from connecting to the request
#define RB_MOCK_IDLE_S    120 // from an answer to the next request

struct rb_mock_connections {
    struct rb_mock_connection *first; // all that are open
};

// For MHD_OPTION_NOTIFY_CONNECTION, with a struct rb_mock_connections * as its argument.
void rb_mock_connections_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
                                enum MHD_ConnectionNotificationCode what);

// What a connection does now. Once its request is complete it has no deadline, because the answer is up to us.
enum rb_mock_connection_phase { RB_MOCK_ASKING, RB_MOCK_ANSWERED, RB_MOCK_IDLE };
void rb_mock_connection_is(struct MHD_Connection *connection, enum rb_mock_connection_phase phase);

// Monotonic. next_us: INT64_MAX if nothing ever is late. cut: shuts what is late; the daemon closes it when it runs
// next.
int64_t rb_mock_connections_next_us(const struct rb_mock_connections *c);
void rb_mock_connections_cut(struct rb_mock_connections *c, int64_t now_us);

#endif
