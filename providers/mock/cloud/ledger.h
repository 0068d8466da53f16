// Writes what the mock cloud has billed as JSON (rb-ledger/1): every instance ever launched, when it ran and what it
// cost. running_us is the instant that the API shows (EC2: launchTime, a whole second), ended_us the one that `reason`
// names: a client that takes both from DescribeInstances and asks rb_bill_node computes the same micro-dollars.
#ifndef RB_PROVIDERS_MOCK_LEDGER_H
#define RB_PROVIDERS_MOCK_LEDGER_H

#include "base/text/buf.h"
#include "providers/mock/cloud/cloud.h"

// Instances that still run are billed as if they ended at now_us.
void rb_ledger_write(const struct rb_cloud *c, int64_t now_us, struct rb_buf *out);

#endif
