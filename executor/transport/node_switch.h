// The dead man's switch of a node (node_switch.sh): a watchdog that powers the node off at a deadline. User data starts
// it at every boot, before there is a bus or an sshd; every heartbeat moves the deadline and reads back whether the
// watchdog runs. Nothing else shows whether a node ends itself.
#ifndef RB_EXECUTOR_NODE_SWITCH_H
#define RB_EXECUTOR_NODE_SWITCH_H

#include "base/text/buf.h"

#include <stddef.h>
#include <stdint.h>

enum rb_switch_state { RB_SWITCH_UNKNOWN, RB_SWITCH_ARMED, RB_SWITCH_NOT_ARMED };

// What a heartbeat found.
struct rb_switch_report {
    enum rb_switch_state state;
    int64_t left_s; // ARMED: until the node ends itself; below zero: it should have; within RB_LIMIT_DURATION_S
    char why[200];  // otherwise: the message of the node or of ssh; printable
};

// Shell text for the boot: installs the switch and arms it. Newlines at the ends of lines, no indentation.
void rb_node_switch_boot(int64_t limit_s, struct rb_buf *out);
// Writes a command for the login user, and its input. The command moves the deadline to this many seconds from now (0:
// leaves it), starts a watchdog if there is none, and prints a report.
void rb_node_switch_beat(int64_t limit_s, struct rb_buf *out_command, struct rb_buf *out_input);
// text: the output of such a command, untrusted; said: stderr's last bytes, for a report without an answer.
void rb_node_switch_read(const char *text, size_t n, const char *said, struct rb_switch_report *out);

#endif
