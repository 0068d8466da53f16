// Turns tuning jobs written for other tools into a job.yaml to edit. A key without an equivalent is never dropped silently: it
// becomes a comment at its place and a warning. A key that would change the meaning is an error that says what to write instead.
// Source: docs/formats/import.md, which lists every key; the formats' own pages are named in their files.
#ifndef RB_PROFILES_IMPORT_JOB_H
#define RB_PROFILES_IMPORT_JOB_H

#include "profiles/job/job.h"

// What the file lacks, or gives in a form that only its tool understands. NULL, 0: not given.
struct rb_job_import_options {
    const char *from;     // a format's name; NULL: recognised by the keys of the file
    const char *run;      // the command, as in job.yaml
    int64_t num_trials;
    int64_t max_resource; // the resource of a fully trained trial
};

struct rb_job_warning {
    int line, column;
    const char *key;  // path in the file read
    const char *text;
};

struct rb_job_import {
    struct rb_arena arena;
    const char *file, *from;               // path as given; the format's name
    const struct rb_job_warning *warnings; // in the order of the file; [n_warnings]
    int n_warnings;
    const char *const *ignored;            // paths of keys that only the other tool uses; [n_ignored]
    int n_ignored;
    const char *text;                      // the job.yaml; `job` is its contents
    struct rb_job job;
};

// The formats' names, sorted; ends with NULL.
extern const char *const rb_job_import_names[];

// Errors name the place in `doc`, also those of the finished job. Owns: finish *out with rb_job_import_finish.
bool rb_job_import_read(const struct rb_doc *doc, const struct rb_job_import_options *options,
                        struct rb_job_import *out, struct rb_err *err);
void rb_job_import_finish(struct rb_job_import *im); // accepts a zeroed one

void rb_job_import_write(const struct rb_job_import *im, struct rb_json *j); // rb-job-import/1

#endif
