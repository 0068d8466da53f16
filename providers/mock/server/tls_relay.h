// A door with TLS in front of one without: what comes in is decrypted and sent on to a port of this machine, what comes back
// is encrypted. libmicrohttpd has TLS of its own, but hands a switched connection over in pieces of four bytes.
#ifndef RB_PROVIDERS_MOCK_TLS_RELAY_H
#define RB_PROVIDERS_MOCK_TLS_RELAY_H

#include "providers/mock/server/certificate.h"

struct rb_tls_relay;

// Listens at a free port of 127.0.0.1. to_port: where requests go. Errors: IO.
bool rb_tls_relay_create(const struct rb_mock_certificate *certificate, int to_port, struct rb_tls_relay **out,
                         struct rb_err *err);
void rb_tls_relay_destroy(struct rb_tls_relay *r); // NULL is fine; resets all connections
int rb_tls_relay_port(const struct rb_tls_relay *r);
int rb_tls_relay_fd(const struct rb_tls_relay *r); // readable when there is something to do
void rb_tls_relay_run(struct rb_tls_relay *r);     // does not block

#endif
