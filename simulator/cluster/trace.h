// A trace: which jobs were submitted to a shared cluster and when. Format: docs/formats/trace.md.
#ifndef RB_SIMULATOR_TRACE_H
#define RB_SIMULATOR_TRACE_H

#include "base/text/units.h"
#include "simulator/cluster/apps.h"

struct rb_trace_job {
    const char *name;
    int row;                // in the file, from 0
    const struct rb_app *app;
    int64_t submitted_us;
    int gpus, batch;        // as submitted
    int64_t deadline_us;    // from its submission; INT64_MAX: none
    double weight;
    bool has_value;         // of an hour sooner; all jobs of a trace have one, or none
    struct rb_rate value;
};

struct rb_trace {
    struct rb_arena arena;
    const struct rb_apps *apps;     // the jobs are of
    const struct rb_trace_job *jobs; // by submission, ties in the order of the file; [n]
    int n;
};

// The applications are borrowed. The caller finishes the trace with rb_trace_finish; nothing to finish on failure.
bool rb_trace_read(struct rb_trace *out, const char *path, const struct rb_apps *apps, struct rb_err *err);
// The same from bytes, for tests.
bool rb_trace_parse(struct rb_trace *out, const char *name, const char *bytes, size_t n, const struct rb_apps *apps,
                    struct rb_err *err);
void rb_trace_finish(struct rb_trace *trace);

#endif
