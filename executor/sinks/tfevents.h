// Encodes TensorBoard's event files: records, and the few messages of theirs that a run needs. Formats: tensorflow's
// event.proto, summary.proto, tensor.proto and tensorboard's plugins/hparams/plugin_data.proto.
#ifndef RB_EXECUTOR_TFEVENTS_H
#define RB_EXECUTOR_TFEVENTS_H

#include "base/text/buf.h"
#include "profiles/job/job.h"

#include <stdint.h>

enum rb_tf_status { RB_TF_SUCCESS = 1, RB_TF_FAILURE = 2 };

// Each appends one whole record. wall_s: unix seconds.
void rb_tf_version(double wall_s, struct rb_buf *out);
void rb_tf_scalar(double wall_s, int64_t step, const char *tag, double value, struct rb_buf *out);
void rb_tf_session_start(double wall_s, const struct rb_space *space, const struct rb_value *values, const char *group,
                         struct rb_buf *out);
void rb_tf_session_end(double wall_s, enum rb_tf_status status, struct rb_buf *out);

#endif
