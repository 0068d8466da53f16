// One list per key, read and written through the same list.
#include "profiles/job/job_names.h"

#include <stddef.h>

const char *const rb_sampler_names[] = {"random", "sobol", "grid", "tpe", "gp", "bohb", "de", NULL};
const char *const rb_on_failure_names[] = {"random", "stop", NULL};
const char *const rb_policy_names[] = {"elastic", "static",  "hypersched", "lookahead", "fluid", "packing",
                                       "pollux",  "optimus", "tiresias",   "goodput",   NULL};
const char *const rb_lr_scaling_names[] = {"adascale", "sqrt", "linear", NULL};
const char *const rb_goal_names[] = {"maximize", "minimize", NULL};
const char *const rb_rungs_names[] = {"cumulative", "additional", NULL};
const char *const rb_brackets_run_names[] = {"in_turn", "side_by_side", NULL};
const char *const rb_rule_names[] = {"promote", "stop", "speculate", NULL};
const char *const rb_scaling_names[] = {"measured", "linear", NULL};
const char *const rb_sharing_names[] = {"uniform", "best", "softmax", "random", "none", NULL};
const char *const rb_kubernetes_as_names[] = {"pod", "job", NULL};
const char *const rb_spot_names[] = {"never", "allow", "only", "safe", NULL};
const char *const rb_objective_names[] = {"min_cost", "min_time", NULL};
const char *const rb_drift_names[] = {"replan", "warn", "stop", NULL};
const char *const rb_stop_names[] = {"self", "saved", NULL};
const char *const rb_args_style_names[] = {"eq", "space", "bare", "pairs", NULL};
const char *const rb_metric_format_names[] = {"auto",     "native", "keras", "hf",   "lightning",   "xgboost",
                                              "lightgbm", "fastai", "csv",   "json", "tensorboard", NULL};
