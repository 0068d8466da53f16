// What rbrun sends to a node, printed: "user-data KEY_FILE MINUTES", the #cloud-config of a launch; "beat SECONDS", the
// command of a heartbeat, for a shell on the node; "beat-input", what that command reads; "beat-by-file SECONDS", the same for a pod.
#include "base/arena.h"
#include "executor/launcher/bootstrap.h"
#include "executor/transport/node_switch.h"
#include "executor/transport/transport.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_user_data(const char *public_key, long long minutes)
{
    struct rb_host_key host;
    struct rb_err err;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    if (!rb_bootstrap_host_key(&host, &err) || !rb_bootstrap_user_data(public_key, &host, minutes, &out, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    fputs(rb_buf_str(&out), stdout);
    return 0;
}

static int print_beat(long long seconds, bool input)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, text = RB_BUF_INIT;
    rb_node_switch_beat(seconds, &command, &text);
    fputs(rb_buf_str(input ? &text : &command), stdout);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "user-data") == 0)
        return print_user_data(argv[2], atoll(argv[3]));
    if (argc == 3 && strcmp(argv[1], "beat") == 0)
        return print_beat(atoll(argv[2]), false);
    if (argc == 2 && strcmp(argv[1], "beat-input") == 0)
        return print_beat(0, true);
    if (argc == 3 && strcmp(argv[1], "beat-by-file") == 0) {
        RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
        rb_transport_beat_by_file(atoll(argv[2]), &command, NULL);
        fputs(rb_buf_str(&command), stdout);
        return 0;
    }
    fprintf(stderr, "usage: print_node user-data PUBLIC_KEY MINUTES | beat SECONDS | beat-input | beat-by-file SECONDS\n");
    return 2;
}
