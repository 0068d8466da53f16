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
    static const struct rb_member members[] = {{"Name", RB_MEMBER_TEXT, 0, .needed = true}, {0}};
    const char *name;
    if (!rb_mock_json_read(call, members, &name, "ValidationException"))
        return false;
    for (int i = 0; i < c->n_parameters; i++)
        if (strcmp(c->parameters[i].name, name) == 0)
            return write_parameter(call, &c->parameters[i]);
    return rb_mock_json_refuse(call, 400, "ParameterNotFound", "Systems Manager could not find the parameter %.100s",
                               name);
}
