// Records the basis of a profile's figures: how much was measured, on how busy a machine, and digests of the command,
// the search space and the scripts, so that a profile of something else is noticed.
#ifndef RB_PROFILES_MEASURED_H
#define RB_PROFILES_MEASURED_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/document/doc.h"
#include "base/document/json.h"

#define RB_MEASURED_FILES 16 // more scripts than a command line names

struct rb_measured_file {
    const char *path;   // relative to the job's workdir
    const char *sha256; // 64 hex digits
};

// What was measured. command NULL: unknown.
struct rb_measured_of {
    const char *command, *space;         // sha256 of setup and run, and of the canonical JSON of `parameters`
    const struct rb_measured_file *files; // named by the command, in its order
    int n_files;
};

struct rb_measured {
    int configurations, units;
    int64_t at_us; // unix, of the last run
    double load;   // median over runs of the load average where trials ran; < 0: unknown, they ran elsewhere
    int cpus;      // of that machine, with load
    struct rb_measured_of of;
};

struct rb_job;

// workdir NULL or unreadable: no files. Files beyond workdir, or larger than 4 MiB, are left out. Texts are the arena's.
void rb_measured_of_job(const struct rb_job *job, const char *workdir, rb_digest_fn *digest, struct rb_arena *arena,
                        struct rb_measured_of *out);
// What has changed since the measurement: "the command", "parameters", "train.py". Returns their number, at most
// RB_MEASURED_FILES + 2; 0 if one of the two is unknown. Borrowed.
int rb_measured_changes(const struct rb_measured_of *then, const struct rb_measured_of *now,
                        const char *out[static RB_MEASURED_FILES + 2]);

// "3 configurations, 6 units, load 5.8 on 2 processors"
void rb_measured_text(const struct rb_measured *m, struct rb_buf *out);

// rb-profile/1's `measured`, and separately its part `of`, as the store keeps it.
bool rb_measured_read(const struct rb_node *node, struct rb_arena *arena, struct rb_measured *out, struct rb_err *err);
void rb_measured_write(const struct rb_measured *m, struct rb_json *j);
bool rb_measured_of_read(const struct rb_node *node, struct rb_arena *arena, struct rb_measured_of *out,
                         struct rb_err *err);
void rb_measured_of_write(const struct rb_measured_of *of, struct rb_json *j);

#endif
