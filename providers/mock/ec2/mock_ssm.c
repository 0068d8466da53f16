// AmazonSSM.GetParameter: the public parameters of the cloud file, which name its images.
#include "providers/mock/ec2/mock_aws_json.h"

#include <string.h>

static bool write_parameter(struct rb_mock_json_call *call, const struct rb_cloud_parameter *p)
{
    rb_json_put(&call->json,
                "{Parameter: {Name: %s, Type: 'String', Value: %s, Version: 1, DataType: 'aws:ec2:image'}}", p->name,
                p->image);
    return true;
}

bool rb_mock_get_parameter(struct rb_mock_json_call *call)
{
    const struct rb_cloud_config *c = rb_cloud_config_of(call->cloud);
    const char *name;
    struct rb_map m;
    struct rb_err err;
    rb_map_begin(&m, call->body, NULL);
    if (!rb_node_string(rb_map_get(&m, "Name"), &name, &err) || !rb_map_end(&m, &err))
        return rb_mock_json_refuse(call, 400, "ValidationException", "%s", err.message);
    for (int i = 0; i < c->n_parameters; i++)
        if (strcmp(c->parameters[i].name, name) == 0)
            return write_parameter(call, &c->parameters[i]);
    return rb_mock_json_refuse(call, 400, "ParameterNotFound", "Systems Manager could not find the parameter %.100s",
                               name);
}
