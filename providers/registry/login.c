#include "providers/registry/login.h"

#include "providers/registry/registry.h"
#include "providers/wire/digest.h"
#include "providers/wire/private_file.h"

#include <stdlib.h>
#include <string.h>

static bool add_variable(const char *name, struct rb_buf *out, struct rb_err *err)
{
    const char *value = getenv(name);
    if (!value || strpbrk(value, "\n\r"))
        return rb_err_set(err, RB_E_IMAGE_CREDENTIALS,
                          "image_credentials: %s is not %s in the environment; export it and try again", name,
                          value ? "a single line" : "set");
    rb_buf_printf(out, "%s\n", value);
    return true;
}

// "user:password" in base64.
static void add_kept(const char *text, struct rb_buf *out)
{
    const size_t len = strlen(text);
    char *bytes = rb_xcalloc(len + 1, 1);
    const int n = rb_base64_decode(text, len, bytes);
    char *colon = n > 0 ? memchr(bytes, ':', (size_t)n) : NULL;
    if (colon && strlen(bytes) == (size_t)n && !strchr(bytes, '\n')) {
        *colon = '\0';
        rb_buf_printf(out, "%s\n%s\n", bytes, colon + 1);
    }
    explicit_bzero(bytes, len);
    free(bytes);
}

static const char *kept_for(const struct rb_node *root, const char *registry)
{
    const bool is_hub = strcmp(registry, "docker.io") == 0;
    const struct rb_node *auths = rb_node_member(root, "auths");
    const struct rb_node *entry = auths ? rb_node_member(auths, registry) : NULL;
    if (!entry && auths && is_hub)
        entry = rb_node_member(auths, "https://index.docker.io/v1/");
    return entry ? rb_node_member_text(entry, "auth") : NULL;
}

static char *config_path(void)
{
    const char *dir = getenv("DOCKER_CONFIG");
    if (!dir || !*dir)
        return rb_private_file_path(NULL, ".docker/config.json");
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/config.json", dir);
    return rb_xstrdup(rb_buf_str(&path));
}

static bool read_config(const char *registry, struct rb_buf *out, struct rb_err *err)
{
    struct rb_private_file file = {.path = config_path()};
    struct rb_doc doc = {0};
    const char *kept = NULL;
    bool ok = rb_private_file_read(&file, err) &&
              (!file.present || rb_doc_parse_json(&doc, file.path, file.text, file.len, err));
    if (ok && file.present)
        kept = kept_for(doc.root, registry);
    ok = ok && (!kept || rb_private_file_check(&file, err));
    if (ok && kept)
        add_kept(kept, out);
    rb_private_doc_finish(&doc);
    rb_private_file_finish(&file);
    return ok;
}

bool rb_registry_login(const struct rb_job *job, const char *image, struct rb_buf *out, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    if (job->image_user)
        return add_variable(job->image_user, out, err) && add_variable(job->image_password, out, err);
    return read_config(rb_image_name_read(image, &arena).registry, out, err);
}
