#include "commands/rbprofile/rbprofile_command.h"

bool rb_profile_open_store(const struct rb_args *args, bool read_only, struct rb_store **out, struct rb_err *err)
{
    return rb_store_open(rb_args_string(args, "db", NULL), read_only, out, err);
}

void rb_profile_close_store(struct rb_store **s)
{
    rb_store_close(*s);
}
