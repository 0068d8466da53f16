// Whether the job's images are there, as a run would ask for them.
#include "executor/doctor/doctor.h"

#include "executor/images/pins.h"
#include "profiles/catalog/infra.h"
#include "profiles/job/job_image.h"
#include "providers/wire/child.h"

#include <stdio.h>
#include <string.h>

static void check_engine(struct rb_doctor *d)
{
    static const char *const argv[] = {"podman", "--version", NULL};
    if (rb_child_run(argv, &(struct rb_child_options){.quiet = true}, NULL))
        rb_doctor_find(d, "container", "podman", RB_VERDICT_OK, "found");
    else
        snprintf(rb_doctor_find(d, "container", "podman", RB_VERDICT_FAIL, "not found in PATH")->remedy, 256,
                 "install podman, or leave `image` out for infra local");
}

static void check_image(struct rb_doctor *d, const char *infra)
{
    struct rb_job job = *d->job;
    struct rb_err err = {0};
    if (rb_pin_job(&job, infra, &d->files.arena, &err)) {
        const char *image = job.images[0].value;
        const bool was_asked = !strchr(rb_image_for(d->job->images, d->job->n_images, infra), '@');
        rb_doctor_find(d, "container", infra, RB_VERDICT_OK,
                       was_asked ? "%.400s is there" : "%.400s: named by its digest, so no registry was asked", image);
        return;
    }
    struct rb_finding *f = rb_doctor_find(d, "container", infra, RB_VERDICT_FAIL, "%s", err.message);
    snprintf(f->remedy, sizeof f->remedy, "correct image or image_credentials, and plan again");
    f->denied = err.code == RB_ERR_DENIED;
}

void rb_doctor_images(struct rb_doctor *d)
{
    for (int i = 0; d->job && i < d->n_infras; i++) {
        if (!rb_image_for(d->job->images, d->job->n_images, d->infras[i]))
            continue;
        check_image(d, d->infras[i]);
        if (rb_infra_within(d->infras[i], "local"))
            check_engine(d);
    }
}
