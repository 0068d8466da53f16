// Classifies the error codes of EC2 and of the token service (STS) and decides what to do about them. The code decides,
// never the HTTP status: "no capacity" comes with status 500.
#ifndef RB_PROVIDERS_EC2_ERRORS_H
#define RB_PROVIDERS_EC2_ERRORS_H

#include "providers/wire/api_call.h"

// An rb_api_judge_fn. A body that is not their error envelope leaves the outcome unknown. A dry run
// that would have worked is a failure with the code NONE.
enum rb_api_reaction rb_ec2_judge(long status, const char *body, size_t n, struct rb_err *err);

#endif
