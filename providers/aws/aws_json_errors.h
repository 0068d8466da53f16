// Classifies the error codes of AWS's JSON services (Systems Manager, price list, single sign-on, quotas) and decides
// what to do about them.
#ifndef RB_PROVIDERS_AWS_JSON_ERRORS_H
#define RB_PROVIDERS_AWS_JSON_ERRORS_H

#include "providers/wire/api_call.h"

// An rb_api_judge_fn. {"__type": "com.amazonaws.ssm#ParameterNotFound", "message": ..}; the status where there is no
// type.
enum rb_api_reaction rb_aws_json_judge(long status, const char *body, size_t n, struct rb_err *err);

#endif
