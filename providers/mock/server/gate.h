// Decides who may send requests to a mock cloud, before keys are checked. It runs commands as the user who started it,
// and a web browser on the same machine reaches its ports: requests that a page of another origin may have caused are
// refused, and those that came for another name than loopback (a page whose name was rebound to 127.0.0.1).
#ifndef RB_PROVIDERS_MOCK_GATE_H
#define RB_PROVIDERS_MOCK_GATE_H

#include "providers/mock/cloud/exchange.h"

// One Host header: 127.0.0.1, localhost or [::1], with any port or none. Origin, where there is one, is http://<that
// host>; Sec-Fetch-Site, where there is one, is same-origin or none. False: *out is the answer, 421 or 403, in plain
// text.
bool rb_mock_gate_passes(const struct rb_exchange_request *request, struct rb_exchange_answer *out);

#endif
