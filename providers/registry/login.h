// Who we are for a registry of container images: the variables that the job names in image_credentials, or what `docker login`
// and `podman login` have kept in ${DOCKER_CONFIG:-~/.docker}/config.json. Programs that it names (credHelpers, credsStore)
// are not run.
#ifndef RB_PROVIDERS_REGISTRY_LOGIN_H
#define RB_PROVIDERS_REGISTRY_LOGIN_H

#include "base/errors/err.h"
#include "base/text/buf.h"
#include "profiles/job/job.h"

// Appends user and password for the image's registry, a line each; nothing where none is known. A secret: wipe it.
// Errors: IMAGE_CREDENTIALS, a variable that is not set; those of rb_private_file_read.
bool rb_registry_login(const struct rb_job *job, const char *image, struct rb_buf *out, struct rb_err *err);

#endif
