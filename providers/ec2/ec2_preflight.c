// Dry run before the first launch: does the image exist, and may we launch instances and terminate them?
// Sends GetParameter, RunInstances and TerminateInstances, the last two with DryRun. There is nothing to terminate yet,
// so the last request names an instance that cannot exist: a policy that only allows to terminate what carries our tag
// has to name this instance as well (docs/policies/aws.json).
#include "providers/ec2/ec2_encode.h"
#include "providers/ec2/ec2_verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 };

static const char no_instance[] = "i-00000000000000000";

struct preflight {
    struct rb_arena arena;
    struct rb_ec2 *ec2;
    struct rb_launch what;
    rb_preflight_fn *fn;
    void *arg;
};

static void end(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    p->fn(p->arg, err, err ? NULL : p->what.image_id);
    rb_api_state_free(p);
}

static bool cannot_succeed(void *arg, const char *body, size_t n, struct rb_err *err)
{
    (void)arg, (void)body, (void)n;
    return rb_err_set(err, RB_E_EC2_DRY_RUN, "a dry run was answered like a real one");
}

static void ask(struct preflight *p, const char *name, struct rb_buf *body, rb_api_done_fn *done)
{
    struct rb_api_call call = rb_api_call_new(name, TRIES, p, cannot_succeed, done);
    call.body = *body;
    rb_buf_puts(&call.body, "&DryRun=true");
    rb_aws_send(p->ec2->client, &call);
}

// "Not found" proves that we were allowed to ask.
static void ending_judged(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    struct rb_err denied = *err;
    if (err->code == RB_ERR_NONE || err->code == RB_ERR_NOT_FOUND) {
        end(p, NULL);
        return;
    }
    if (err->code == RB_ERR_DENIED)
        rb_err_set(&denied, RB_E_PERMISSION,
                   "%s; nothing is launched that could not be terminated: allow ec2:TerminateInstances, also on "
                   "instance/%s, by which the dry run asks (docs/policies/aws.json)",
                   err->message, no_instance);
    end(p, &denied);
}

// The error names the key of the job file, so that the user sees at once what to correct.
static void end_for_image(struct preflight *p, const struct rb_err *err)
{
    struct rb_err named = *err;
    snprintf(named.key, sizeof named.key, "resources.image_id");
    rb_err_prefix(&named, "image %s", p->what.image_id);
    end(p, &named);
}

static void launch_judged(void *arg, const struct rb_err *err)
{
    struct preflight *p = arg;
    struct rb_buf body = RB_BUF_INIT;
    if (err->code != RB_ERR_NONE && strstr(err->message, "InvalidAMIID")) {
        end_for_image(p, err);
        return;
    }
    if (err->code != RB_ERR_NONE) {
        end(p, err);
        return;
    }
    rb_ec2_encode_terminate(no_instance, &body);
    ask(p, "TerminateInstances (dry run)", &body, ending_judged);
}

static void ask_launch(struct preflight *p)
{
    struct rb_buf body = RB_BUF_INIT;
    struct rb_launch launch = p->what;
    launch.disk_gb = 0; // the name of the root device is not known yet, and no permission hangs on it
    rb_ec2_encode_run(&launch, launch.image_id, NULL, &body);
    ask(p, "RunInstances (dry run)", &body, launch_judged);
}

static bool is_image_id(const char *s)
{
    return strncmp(s, "ami-", 4) == 0 && s[4] && strspn(s + 4, "0123456789abcdef") == strlen(s + 4);
}

static void image_known(void *arg, const struct rb_err *err, const char *value)
{
    struct preflight *p = arg;
    struct rb_err named;
    if (!err && is_image_id(value)) {
        p->what.image_id = rb_arena_strdup(&p->arena, value);
        ask_launch(p);
        return;
    }
    if (err)
        named = *err;
    else
        rb_err_set(&named, RB_E_IMAGE, "expected an image id (ami-...)");
    end_for_image(p, &named);
}

// Checks what can be checked without a request. *out_ssm: who knows the image, where it is named by a parameter.
static bool begin(struct preflight *p, struct rb_aws_client **out_ssm, struct rb_err *err)
{
    if (!rb_ec2_check_launch(&p->what, err) || !(p->what.image_id = rb_ec2_image_of(p->ec2, &p->what, err)))
        return false;
    return !rb_ssm_parameter_of(p->what.image_id) || (*out_ssm = rb_ec2_service(p->ec2, RB_EC2_SSM, err)) != NULL;
}

void rb_ec2_preflight(struct rb_provider *provider, const struct rb_launch *what, rb_preflight_fn *fn, void *arg)
{
    struct preflight *p = rb_api_state_create(sizeof *p);
    struct rb_aws_client *ssm = NULL;
    struct rb_launch launch = *what;
    struct rb_err err = {0};
    launch.token = "preflight";
    launch.user_data = NULL;
    launch.placement_group = NULL; // there is none yet, and a dry run makes none
    p->ec2 = provider->state;
    p->fn = fn;
    p->arg = arg;
    rb_launch_copy(&p->arena, &launch, &p->what);
    if (!begin(p, &ssm, &err)) {
        struct rb_api_call call = rb_api_call_new(NULL, 1, p, NULL, end);
        rb_aws_refuse(p->ec2->client, &call, &err);
    } else if (ssm) {
        rb_ssm_get(ssm, rb_ssm_parameter_of(p->what.image_id), image_known, p);
    } else {
        ask_launch(p);
    }
}
