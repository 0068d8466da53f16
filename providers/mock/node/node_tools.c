// The stand-in for the tools that end or change a machine: one shell script under many names. It ends this instance by
// telling rbmock through the node's FIFO, and knows nothing of the host's tools. Answers are those of the real tools on a
// machine without systemd, and, while bootcmd runs, of one whose D-Bus is not up yet (systemd 252, in a real boot): what
// needs the bus then fails, `shutdown +MINUTES` above all.
#include "providers/mock/node/node_dir.h"

static const char script[] =
    "tool=${0##*/}\n"
    "note() { printf '%s: %s\\n' \"$tool\" \"$*\" >>\"$node/boot.log\"; }\n"
    "tell() { note \"$*\"; printf '%s\\n' \"$*\" >\"$node/control\"; }\n"
    "die() { note \"$*\"; printf '%s: %s\\n' \"$tool\" \"$*\" >&2; exit 1; }\n"
    "say() { note \"$1\"; printf '%s\\n' \"$1\" >&2; }\n"
    "need_bus() { [ ! -e \"$node/no-bus\" ] || { say 'Failed to connect to bus: No such file or directory'; exit 1; }; "
    "}\n"
    "no_systemd() {\n"
    "  say \"System has not been booted with systemd as init system (PID 1). Can't operate.\"\n"
    "  say 'Failed to connect to bus: Host is down'\n"
    "  exit 1\n"
    "}\n"
    "\n"
    "shutdown_() { # shutdown [-h|-P|-c|-k] [now|+MINUTES] [MESSAGE]\n"
    "  when=+1\n"
    "  while [ $# -gt 0 ]; do\n"
    "    case $1 in\n"
    "    -h|-P|--poweroff|--no-wall) ;;\n"
    "    -c) need_bus; tell cancel; exit 0 ;;\n"
    "    -k) need_bus; note 'only a warning'; exit 0 ;;\n"
    "    -r|--reboot) die 'a mock node cannot restart' ;;\n"
    "    -H|--halt) tell halt; exit 0 ;;\n"
    "    -*) die \"option $1 is not known to a mock node\" ;;\n"
    "    *) when=$1; break ;;\n"
    "    esac\n"
    "    shift\n"
    "  done\n"
    "  case $when in\n"
    "  now) minutes=0 ;;\n"
    "  *) need_bus; minutes=${when#+} ;;\n"
    "  esac\n"
    "  case $minutes in\n"
    "  ''|*[!0-9]*) die \"expected now or +MINUTES, got $when\" ;;\n"
    "  esac\n"
    "  tell \"shutdown $minutes\"\n"
    "}\n"
    "\n"
    "case $tool in\n"
    "shutdown) shutdown_ \"$@\" ;;\n"
    "poweroff) tell 'shutdown 0' ;;\n"
    "halt) tell halt ;; # as on EC2, where a halted machine runs on and is paid for\n"
    "reboot) die 'a mock node cannot restart' ;;\n"
    "init|telinit) [ \"$1\" = 0 ] && tell 'shutdown 0' || die \"runlevel $1 is not known to a mock node\" ;;\n"
    "systemctl)\n"
    "  case $1 in\n"
    "  poweroff) tell 'shutdown 0' ;;\n"
    "  halt) tell halt ;;\n"
    "  *) no_systemd ;;\n"
    "  esac ;;\n"
    "systemd-run) no_systemd ;;\n"
    "sudo)\n"
    "  while [ $# -gt 0 ]; do\n"
    "    case $1 in\n"
    "    -n|-E|-H|--) shift ;;\n"
    "    -*) die \"option $1 is not known to a mock node\" ;;\n"
    "    *) break ;;\n"
    "    esac\n"
    "  done\n"
    "  exec \"$@\" ;;\n"
    "apt|apt-get|dnf|dpkg|snap|yum) note \"$*\" ;; # nothing is installed, and that is no error\n"
    "*) die 'not a tool of a mock node' ;;\n"
    "esac\n";

void rb_node_tools_write(const char *root, struct rb_buf *out)
{
    rb_buf_puts(out, "#!/bin/sh\nnode=");
    rb_buf_shell_quote(out, root);
    rb_buf_putc(out, '\n');
    rb_buf_puts(out, script);
}
