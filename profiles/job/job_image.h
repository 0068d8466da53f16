// Reads and writes the keys image and image_credentials of a job: in which container image its commands run. Where the nodes
// of an infrastructure are pods, it is the pods' image; elsewhere a container runs on each node (executor/transport/container.h).
#ifndef RB_PROFILES_JOB_IMAGE_H
#define RB_PROFILES_JOB_IMAGE_H

#include "profiles/job/job.h"

enum { RB_IMAGE_NAME_BYTES = 256 };

// A map from infra to image, or a text: one row with the key "*". Errors: IMAGE_NAME.
bool rb_job_image_read(struct rb_map *m, struct rb_arena *arena, struct rb_job *job, struct rb_err *err);
// Pods have one image, from this key or from resources.image_id. Errors: IMAGE_TWICE. To be called when both were read.
bool rb_job_image_check(struct rb_map *m, const struct rb_job *job, struct rb_err *err);
// Writes the keys; nothing where the job has none: digests of jobs without them stay as they are.
void rb_job_image_write(const struct rb_job *job, struct rb_json *j);

// Is it a name as registries have them, [REGISTRY/]PATH[:TAG][@sha256:DIGEST], or the id sha256:DIGEST of an image?
bool rb_image_is_name(const char *image);
bool rb_image_has_digest(const char *image);

// The first row whose key contains this infra; NULL: none does.
const char *rb_image_for(const struct rb_key_value *rows, int n, const char *infra);
// What nodes there are launched from: a machine's image, or the image of pods. NULL: the job does not say.
const char *rb_job_boot_image(const struct rb_job *job, const char *infra);
// The image of the container that runs on each node there. NULL: none does.
const char *rb_job_container_image(const struct rb_job *job, const char *infra);

// The variables whose values a run needs and must not show: the job's secrets, and those of image_credentials.
struct rb_string_list rb_job_secret_variables(const struct rb_job *job, struct rb_arena *arena);

#endif
