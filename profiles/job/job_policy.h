// Reads and writes `policy:` and `policy_options:` of job.yaml.
#ifndef RB_PROFILES_JOB_POLICY_H
#define RB_PROFILES_JOB_POLICY_H

#include "profiles/job/job.h"

// node NULL: elastic.
bool rb_policy_read(const struct rb_node *node, const char **out, struct rb_err *err);
// True for hypersched and lookahead, the policies with options.
bool rb_policy_has_options(const char *policy);

// node NULL: all defaults, which give the published algorithm. Errors: options of a policy that has none.
bool rb_policy_options_read(const struct rb_node *node, const char *policy, struct rb_policy_options *out,
                            struct rb_err *err);
// The default of scheduler.rule.
enum rb_rule rb_policy_rule(const char *policy, const struct rb_policy_options *o);
void rb_policy_options_write(const struct rb_policy_options *o, struct rb_json *j);

#endif
