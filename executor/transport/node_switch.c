#include "executor/transport/node_switch.h"

#include "base/limits.h"
#include "executor/node_switch_script.h" // generated from node_switch.sh: rb_node_switch_script[]

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY "${RB_RUN_DIR:-/run/rb}-switch"
// $1: the directory. Reads the script; an incomplete one is not installed.
#define INSTALL                                                                                             \
    "umask 022; mkdir -p \"$1\"; cat >\"$1/switch.$$\"; "                                                   \
    "if [ \"$(tail -n 1 \"$1/switch.$$\")\" = 'main \"$@\"' ]; then mv -f \"$1/switch.$$\" \"$1/switch\"; " \
    "else rm -f \"$1/switch.$$\"; fi; "

void rb_node_switch_boot(int64_t limit_s, struct rb_buf *out)
{
    rb_buf_puts(out, "install_switch() { " INSTALL "}\n"
                     "install_switch \"" DIRECTORY "\" <<'RB_SWITCH_END'\n");
    rb_buf_append(out, rb_node_switch_script, rb_node_switch_script_len);
    rb_buf_printf(out,
                  "RB_SWITCH_END\n"
                  "sh \"" DIRECTORY "/switch\" beat %" PRId64 " || echo 'rb-switch not-armed'\n",
                  limit_s);
}

// Login users of cloud images may use sudo without a password; root needs no sudo. A user who may not use it can still
// read the switch's state.
void rb_node_switch_beat(int64_t limit_s, struct rb_buf *out_command, struct rb_buf *out_input)
{
    rb_buf_puts(out_command, "d=" DIRECTORY "; s=; [ \"$(id -u)\" = 0 ] || s='sudo -n'; $s sh -c ");
    rb_buf_shell_quote(out_command, INSTALL "exec sh \"$1/switch\" beat \"$2\"");
    rb_buf_printf(out_command, " sh \"$d\" %" PRId64 " || sh \"$d/switch\" look", limit_s);
    rb_buf_append(out_input, rb_node_switch_script, rb_node_switch_script_len);
}

static void copy_printable(char *out, size_t size, const char *text, size_t n)
{
    size_t k = 0, i = 0;
    while (i < n && text[i] <= ' ')
        i++;
    for (; i < n && k + 1 < size; i++)
        out[k++] = text[i] >= ' ' && text[i] < 127 ? text[i] : ' ';
    while (k > 0 && out[k - 1] == ' ')
        k--;
    out[k] = '\0';
}

static bool read_line(const char *line, size_t n, struct rb_switch_report *out)
{
    static const char armed[] = "rb-switch armed ", not_armed[] = "rb-switch not-armed";
    if (n > sizeof armed - 1 && n < sizeof armed + 18 && memcmp(line, armed, sizeof armed - 1) == 0) {
        char number[32], *end;
        copy_printable(number, sizeof number, line + sizeof armed - 1, n - (sizeof armed - 1));
        out->left_s = strtoll(number, &end, 10);
        out->state = RB_SWITCH_ARMED;
        return end != number && *end == '\0' && out->left_s >= -RB_LIMIT_DURATION_S &&
               out->left_s <= RB_LIMIT_DURATION_S;
    }
    if (n < sizeof not_armed - 1 || memcmp(line, not_armed, sizeof not_armed - 1) != 0)
        return false;
    out->state = RB_SWITCH_NOT_ARMED;
    copy_printable(out->why, sizeof out->why, line + sizeof not_armed - 1, n - (sizeof not_armed - 1));
    return true;
}

void rb_node_switch_read(const char *text, size_t n, const char *said, struct rb_switch_report *out)
{
    for (size_t at = 0; at < n;) {
        const char *newline = memchr(text + at, '\n', n - at);
        const size_t len = newline ? (size_t)(newline - (text + at)) : n - at;
        *out = (struct rb_switch_report){0};
        if (read_line(text + at, len, out))
            return;
        at += len + 1;
    }
    *out = (struct rb_switch_report){0};
    copy_printable(out->why, sizeof out->why, said, strlen(said));
}
