// Classifies Google's error codes and decides what to do about them: those of refused requests, and those of operations
// that were accepted and failed later. The reason decides, never the HTTP status: "no more requests this minute" comes
// with status 403.
#ifndef RB_PROVIDERS_GCP_ERRORS_H
#define RB_PROVIDERS_GCP_ERRORS_H

#include "base/document/doc.h"
#include "providers/wire/api_call.h"

// An rb_api_judge_fn. A body that is not Google's error envelope leaves the outcome unknown.
enum rb_api_reaction rb_gcp_judge(long status, const char *body, size_t n, struct rb_err *err);

// The same for an operation that is done and carries an error. RB_API_FAIL: it did nothing, for the reason in *err.
// RB_API_RETRY: whether it did something can only be seen on the instance itself.
enum rb_api_reaction rb_gcp_judge_operation(const struct rb_node *operation, struct rb_err *err);

#endif
