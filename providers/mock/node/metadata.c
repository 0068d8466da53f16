// Text out, as the clouds have it.
#include "providers/mock/node/metadata.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

static void write_text(struct rb_exchange_answer *out, int status, const char *text)
{
    rb_buf_puts(&out->body, text);
    out->content_type = "text/plain";
    out->status = status;
}

static void answer_interruption(const struct rb_cloud_instance *i, int64_t now_us, struct rb_exchange_answer *out)
{
    int64_t at_us;
    char when[32];
    if (!rb_cloud_notice(i, now_us, &at_us)) {
        write_text(out, 404, "");
        return;
    }
    rb_format_instant(at_us - at_us % RB_US_PER_S, when);
    rb_buf_printf(&out->body, "{\"action\": \"%s\", \"time\": \"%s\"}", i->stop_when_taken ? "stop" : "terminate",
                  when);
    out->content_type = "text/plain";
    out->status = 200;
}

// IMDSv2: a token first, and it must be the right one.
static void answer_ec2(const struct rb_cloud_instance *i, const struct rb_exchange_request *r, const char *what,
                       int64_t now_us, struct rb_exchange_answer *out)
{
    char token[64];
    const char *given = rb_exchange_header(r, "x-aws-ec2-metadata-token");
    snprintf(token, sizeof token, "token-of-%s", i->id);
    if (strcmp(what, "api/token") == 0) {
        bool asked = strcmp(r->method, "PUT") == 0 && rb_exchange_header(r, "x-aws-ec2-metadata-token-ttl-seconds");
        write_text(out, asked ? 200 : 400, asked ? token : "");
    } else if (!given || strcmp(given, token) != 0) {
        write_text(out, 401, "");
    } else if (strcmp(what, "meta-data/instance-id") == 0) {
        write_text(out, 200, i->id);
    } else if (strcmp(what, "meta-data/spot/instance-action") == 0) {
        answer_interruption(i, now_us, out);
    } else {
        write_text(out, 404, "");
    }
}

static void answer_gcp(struct rb_mock_gcp *gcp, const struct rb_cloud_instance *i, const struct rb_exchange_request *r, const char *what,
                       int64_t now_us, struct rb_exchange_answer *out)
{
    int64_t at_us;
    const char *flavor = rb_exchange_header(r, "Metadata-Flavor");
    if (!flavor || strcmp(flavor, "Google") != 0)
        write_text(out, 403, "Missing Metadata-Flavor:Google header.");
    else if (strcmp(what, "instance/preempted") == 0)
        write_text(out, 200, rb_cloud_notice(i, now_us, &at_us) ? "TRUE" : "FALSE");
    else if (!gcp || !rb_mock_gcp_identity(gcp, i->id, what, rb_clock_unix_us(), out))
        write_text(out, 404, "");
}

void rb_mock_metadata_answer(const struct rb_mock_metadata *m, const struct rb_exchange_request *request, const char *what,
                             int64_t now_us, struct rb_exchange_answer *out)
{
    char id[80];
    int n = 0;
    const bool named = sscanf(what, "%79[^/]/%n", id, &n) == 1 && n > 0;
    char *dot = named ? strchr(id, '.') : NULL;
    const bool is_node = dot && strcmp(dot + 1, m->secret) == 0;
    if (dot)
        *dot = '\0';
    const struct rb_cloud_instance *i = named ? rb_cloud_find(m->cloud, id) : NULL;
    what += n;
    if (!i || i->state == RB_CLOUD_TERMINATED)
        write_text(out, 404, "no such instance\n");
    else if (strncmp(what, "latest/", 7) == 0)
        answer_ec2(i, request, what + 7, now_us, out);
    else if (strncmp(what, "computeMetadata/v1/", 19) == 0)
        answer_gcp(is_node ? m->gcp : NULL, i, request, what + 19, now_us, out);
    else
        write_text(out, 404, "");
}
