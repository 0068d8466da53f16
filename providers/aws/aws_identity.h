// Finds our identity at AWS in environment and files: keys, or the source of keys, and the roles to assume with them.
// Order of the AWS tools (botocore): environment; of the profile: role, web identity, single sign-on, keys of the
// credentials file, credential_process, keys of the config file; container; instance. Makes no request.
#ifndef RB_PROVIDERS_AWS_IDENTITY_H
#define RB_PROVIDERS_AWS_IDENTITY_H

#include "providers/aws/credentials.h"

enum { RB_AWS_MAX_ROLES = 5 }; // source profiles in a row

enum rb_aws_origin {
    RB_AWS_KEYS,         // at hand
    RB_AWS_SSO,          // for the token that `aws sso login` left
    RB_AWS_WEB_IDENTITY, // for a token in a file (Kubernetes, a CI service): gives a role
    RB_AWS_CONTAINER,    // from the agent of ECS or EKS
    RB_AWS_INSTANCE,     // from the metadata service of the machine (IMDSv2)
};

struct rb_aws_role {
    char arn[512];
    char session_name[65]; // what CloudTrail shows
    char external_id[256]; // "": none
    int64_t duration_s;    // 0: the role's default
};

struct rb_aws_identity {
    enum rb_aws_origin origin;
    struct rb_aws_credentials keys;   // KEYS
    char account[16], sso_role[64];   // SSO
    char sso_region[64];
    char url[512];                    // CONTAINER: whole; INSTANCE: of the service, no slash at the end
    char token[4096];                 // SSO: bearer; CONTAINER: Authorization; WEB_IDENTITY: of the file
    struct rb_aws_role web_role;      // WEB_IDENTITY
    struct rb_aws_role roles[RB_AWS_MAX_ROLES]; // assumed in this order with the previous credentials, [n_roles]
    int n_roles;
    const char *source;               // static text, for traces and `rbrun doctor`
    int64_t ends_at_us;               // KEYS with a known end, SSO: unix, when it gives no more credentials; -1: not known
};

// unix_us: now, to check a token's expiry. DENIED with the places that were checked and the remedy. A source that is
// configured but cannot be used is an error, not a fall-through: the next one would be another identity.
bool rb_aws_identity_find(int64_t unix_us, struct rb_aws_identity *out, struct rb_err *err);
void rb_aws_identity_wipe(struct rb_aws_identity *i);

#endif
