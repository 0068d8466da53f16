// Source: "About VM metadata" and "Authenticate workloads using service accounts", in Compute Engine's documentation.
#include "providers/mock/gcp/mock_gcp_state.h"

#include <string.h>

// NULL: it is none of Compute Engine's, or has no account.
static const char *account_of(const struct rb_mock_gcp *gcp, const char *instance_id)
{
    for (int k = 0; k < gcp->n_instances; k++) {
        const struct rb_mock_gcp_instance *i = &gcp->instances[k];
        if (i->ordinal >= 0 && strcmp(rb_cloud_instance(gcp->cloud, i->ordinal)->id, instance_id) == 0)
            return i->service_account;
    }
    return NULL;
}

bool rb_mock_gcp_identity(struct rb_mock_gcp *gcp, const char *instance_id, const char *what, int64_t unix_us,
                          struct rb_exchange_answer *out)
{
    const char *account = account_of(gcp, instance_id);
    const bool of_project = strcmp(what, "project/project-id") == 0;
    const bool of_token = strcmp(what, "instance/service-accounts/default/token") == 0;
    if (!of_project && !(of_token && account))
        return false;
    rb_buf_puts(&out->headers, "Metadata-Flavor: Google\n");
    out->content_type = of_token ? "application/json" : "application/text";
    out->status = 200;
    if (of_token)
        rb_mock_gcp_token_grant(&gcp->tokens, unix_us, out);
    else
        rb_buf_puts(&out->body, gcp->tokens.account ? rb_mock_gcp_account_project(gcp->tokens.account) : "test");
    return true;
}
