// images: get, getFromFamily, list. Images of Google's public projects exist, whatever their names: here all are one.
// Only those that the cloud file names can be listed.
#include "providers/mock/gcp/mock_gcp_call.h"
#include "base/text/table.h"

#include <string.h>

#define FAMILY_VIEWS "imageFamilyViews/"

// "projects/P/zones/Z/imageFamilyViews/F", which gcloud takes for --image-family and for its default image, is another
// name of the family.
const char *rb_gcp_image_of(struct rb_mock_gcp_call *call, const char *link)
{
    const char *image = rb_gcp_without_host(call, link);
    if (strncmp(image, "global/", 7) == 0)
        return rb_arena_printf(call->arena, "projects/%s/%s", call->project, image);
    const char *project = strncmp(image, "projects/", 9) == 0 ? image + 9 : NULL;
    const char *rest = project ? strchr(project, '/') : NULL;
    if (!rest || strncmp(rest, "/zones/", 7) != 0)
        return image;
    const char *zone = rest + 7, *view = strchr(zone, '/');
    const size_t n = view ? (size_t)(view - zone) : 0;
    const bool is_place =
        (n == 1 && *zone == '-') || (call->zone && strlen(call->zone) == n && strncmp(zone, call->zone, n) == 0);
    if (!is_place || strncmp(view + 1, FAMILY_VIEWS, strlen(FAMILY_VIEWS)) != 0)
        return image;
    return rb_arena_printf(call->arena, "projects/%.*s/global/images/family/%s", (int)(rest - project), project,
                           view + 1 + strlen(FAMILY_VIEWS));
}

bool rb_gcp_image_exists(const struct rb_mock_gcp_call *call, const char *image)
{
    static const char *const projects[] = {
        "projects/deeplearning-platform-release/global/images/", "projects/ml-images/global/images/",
        "projects/ubuntu-os-accelerator-images/global/images/", "projects/ubuntu-os-cloud/global/images/",
        "projects/debian-cloud/global/images/"};
    const struct rb_cloud_config *c = rb_cloud_config_of(call->cloud);
    for (int k = 0; k < c->n_gcp_images; k++)
        if (strcmp(c->gcp_images[k], image) == 0)
            return true;
    const char *const *project = RB_ROW_STARTING(projects, image);
    return project && image[strlen(*project)];
}

static void write_image(struct rb_mock_gcp_call *call, const char *zone, const void *name)
{
    (void)zone;
    rb_gcp_begin_resource(call, "image", name);
    rb_json_put(&call->json, "status: 'READY', architecture: 'X86_64', diskSizeGb: '10', selfLink: %s}",
                rb_gcp_link(call, "/global/images/%s", (const char *)name));
}

bool rb_gcp_image_get(struct rb_mock_gcp_call *call)
{
    if (!rb_gcp_checked(call))
        return false;
    const char *family = strstr(call->request->path, "/images/family/") ? "family/" : "";
    const char *wanted =
        rb_arena_printf(call->arena, "projects/%s/global/images/%s%s", call->project, family, call->name);
    if (!rb_gcp_image_exists(call, wanted))
        return rb_gcp_not_found(call, "global/images", call->name);
    write_image(call, NULL, call->name);
    return true;
}

static const char *image_field(const void *item, const char *field, const void *context)
{
    (void)field, (void)context;
    return item;
}

static int count_images(struct rb_mock_gcp_call *call)
{
    return rb_cloud_config_of(call->cloud)->n_gcp_images;
}

static const void *image_at(struct rb_mock_gcp_call *call, const char *zone, int k)
{
    const char *own = rb_arena_printf(call->arena, "projects/%s/global/images/", call->project);
    const char *image = rb_cloud_config_of(call->cloud)->gcp_images[k];
    (void)zone;
    return strncmp(image, own, strlen(own)) == 0 && !strchr(image + strlen(own), '/') ? image + strlen(own) : NULL;
}

static const char *const image_fields[] = {"name", NULL};

const struct rb_gcp_collection rb_gcp_images = {"images",     "image",  image_fields, image_field,
                                                count_images, image_at, write_image};
