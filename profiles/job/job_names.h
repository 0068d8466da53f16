// Lists the words of job.yaml in the order of their enums. Each list ends with NULL.
#ifndef RB_PROFILES_JOB_NAMES_H
#define RB_PROFILES_JOB_NAMES_H

extern const char *const rb_sampler_names[];    // scheduler.sampler, samplers/ has them
extern const char *const rb_on_failure_names[]; // scheduler.sampler.on_failure
extern const char *const rb_policy_names[];     // policy
extern const char *const rb_lr_scaling_names[]; // trial.batch.lr_scaling
extern const char *const rb_goal_names[];       // enum rb_goal
extern const char *const rb_rungs_names[];      // enum rb_rungs
extern const char *const rb_brackets_run_names[]; // enum rb_brackets_run
extern const char *const rb_rule_names[];       // enum rb_rule
extern const char *const rb_scaling_names[];    // enum rb_scaling
extern const char *const rb_sharing_names[];    // enum rb_spare_gpus
extern const char *const rb_kubernetes_as_names[]; // enum rb_kubernetes_as
extern const char *const rb_spot_names[];       // enum rb_spot
extern const char *const rb_objective_names[];  // enum rb_objective
extern const char *const rb_drift_names[];      // enum rb_drift
extern const char *const rb_stop_names[];       // enum rb_stop
extern const char *const rb_args_style_names[]; // enum rb_args_style
extern const char *const rb_metric_format_names[]; // enum rb_metric_format, without RB_METRIC_PATTERN

#endif
