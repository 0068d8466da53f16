// Reads the two files of the AWS tools: shared credentials (~/.aws/credentials) and config (~/.aws/config). Checks
// their sections and permissions and wipes them at the end; callers interpret the settings.
#ifndef RB_PROVIDERS_AWS_CONFIG_H
#define RB_PROVIDERS_AWS_CONFIG_H

#include "providers/wire/private_file.h"

struct rb_aws_setting {
    const struct rb_private_file *file;
    const char *kind, *name;  // [profile NAME], [services NAME], [sso-session NAME]; [default] is profile default
    const char *group, *key;  // group: the key above an indented block, else NULL
    const char *value;
    int line;
};

struct rb_aws_config {
    struct rb_private_file credentials, config;
    struct rb_aws_setting *settings; // [n_settings]: credentials file first, so that its keys win
    int n_settings;
    const char *profile;             // AWS_PROFILE, AWS_DEFAULT_PROFILE or "default"
    bool profile_is_chosen;          // by one of the variables: it must then exist
};

// A file that does not exist is empty. Errors: a malformed file, with its line.
bool rb_aws_config_load(struct rb_aws_config *out, struct rb_err *err);
void rb_aws_config_finish(struct rb_aws_config *c);

bool rb_aws_config_has(const struct rb_aws_config *c, const char *kind, const char *name);
// NULL: not set. group NULL: a plain key.
const struct rb_aws_setting *rb_aws_config_find(const struct rb_aws_config *c, const char *kind, const char *name,
                                                const char *group, const char *key);

#endif
