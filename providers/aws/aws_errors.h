// Classifies the error codes of AWS's services and decides what to do about them. The code decides, never the HTTP
// status: "no capacity" comes with status 500.
#ifndef RB_PROVIDERS_AWS_ERRORS_H
#define RB_PROVIDERS_AWS_ERRORS_H

#include "providers/wire/api_call.h"

// An rb_api_judge_fn for EC2 and the token service (STS). A body that is not their error envelope leaves the outcome
// unknown. A dry run that would have worked is a failure with the code NONE.
enum rb_api_reaction rb_aws_query_judge(long status, const char *body, size_t n, struct rb_err *err);

// The same for the JSON services (Systems Manager, price list, single sign-on, quotas). {"__type":
// "com.amazonaws.ssm#ParameterNotFound", "message": ..}; the status where there is no type.
enum rb_api_reaction rb_aws_json_judge(long status, const char *body, size_t n, struct rb_err *err);

#endif
