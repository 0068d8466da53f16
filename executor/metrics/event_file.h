// Reads the scalars of a TensorBoard event file while it grows. Source: tensorflow/core/lib/io/record_writer.cc (frames),
// tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto.
#ifndef RB_EXECUTOR_EVENT_FILE_H
#define RB_EXECUTOR_EVENT_FILE_H

#include "base/text/buf.h"

#include <stdbool.h>
#include <stdint.h>

// All zero: at the first byte.
struct rb_event_file {
    struct rb_buf buf;  // the record that is not complete yet
    uint64_t skip;      // bytes of a record that is too long to hold a scalar
    bool is_broken;     // a checksum was wrong: the rest cannot be read
};
void rb_event_file_finish(struct rb_event_file *f);

// The tag is not terminated.
typedef void rb_scalar_fn(void *ctx, const char *tag, size_t tag_len, int64_t step, double value);

// The next bytes, split anywhere. A scalar is a simple_value, or a tensor of one float or double.
void rb_event_file_take(struct rb_event_file *f, const char *bytes, size_t n, rb_scalar_fn *fn, void *ctx);

#endif
