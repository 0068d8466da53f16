// A server on two descriptors: reads lines, answers them, and looks after the programs at work. One thread.
#ifndef RB_COMMANDS_RBMCP_SERVER_H
#define RB_COMMANDS_RBMCP_SERVER_H

#include "commands/rbmcp/tools.h"

// Until the input ends, or *stop is set by a signal; then ends what is at work. False: nothing can be written any more.
bool rb_mcp_serve(struct rb_mcp_setting *setting, int in_fd, int out_fd, const volatile int *stop);

#endif
