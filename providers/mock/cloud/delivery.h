// Delivers an answer: whole, or as chaos demands not at all, cut off, or slowly. With server.c and connections.c the
// only user of libmicrohttpd.
#ifndef RB_PROVIDERS_MOCK_DELIVERY_H
#define RB_PROVIDERS_MOCK_DELIVERY_H

#include "providers/mock/cloud/exchange.h"

#include <microhttpd.h>

struct rb_deliveries;

// Takes over a connection that has been switched to another protocol, with what the client has sent since.
typedef void rb_switch_fn(void *arg, void *session, int fd, const char *bytes, size_t n,
                          struct MHD_UpgradeResponseHandle *handle);

struct rb_deliveries *rb_deliveries_create(rb_switch_fn *on_switch, void *arg);
void rb_deliveries_destroy(struct rb_deliveries *d); // after rb_deliveries_abandon, and when the daemons have stopped

// Sends the answer, or does with the connection what its delivery says. The body is copied.
enum MHD_Result rb_deliveries_send(struct rb_deliveries *d, struct MHD_Connection *connection,
                                   const struct rb_exchange_answer *a);
int64_t rb_deliveries_next_us(const struct rb_deliveries *d); // monotonic; INT64_MAX: nothing drips
void rb_deliveries_resume(struct rb_deliveries *d, int64_t monotonic_us);
// Lets go of everything that drips, so that the daemons can stop: they must run once more.
void rb_deliveries_abandon(struct rb_deliveries *d);

#endif
