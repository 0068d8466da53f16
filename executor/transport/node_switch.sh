# The dead man's switch of a node: it powers the node off at a deadline, which every heartbeat of rbrun moves. POSIX sh,
# and nothing that needs D-Bus, a finished boot or a login. Run by root:
#   switch beat SECONDS   at every boot and heartbeat: the deadline is SECONDS from now (0: stays what it is), a
#                         watchdog is started if there is none, and the report is printed
#   switch look           only reports
#   switch watch [alone]  the watchdog; it never ends. alone: not as a unit of systemd
# The report: "rb-switch armed SECONDS", the time to the deadline, or "rb-switch not-armed WHY".
# Times are seconds of the node's clock since its boot, which cannot be set. The switch's directory belongs to root:
#   ends-at  the deadline          seen  the watchdog's last look at it: its process, the time, the deadline it knows
# Where RB_RUN_DIR is set, the machine is not this node's alone, and nothing outside that directory is touched.
# RB_CLOCK_PERMILLE is how fast the node's clock runs, in thousandths; a mock cloud sets both.
set -u
umask 022
dir=${RB_RUN_DIR:-/run/rb}-switch
permille=${RB_CLOCK_PERMILLE:-1000}
units=/run/systemd/system cgroups=/sys/fs/cgroup sysrq=/proc/sysrq-trigger
[ -z "${RB_RUN_DIR:-}" ] || units=$dir/units cgroups=$dir/cgroups sysrq=$dir/sysrq
now=0 end=0

tick() { # sets now
    read -r up _ </proc/uptime || return 1
    now=$(((100 * ${up%.*} + 1${up#*.} - 100) * permille / 100000))
}

put() { # NAME TEXT: a whole file or none
    echo "$2" >"$dir/$1.$$" && mv -f "$dir/$1.$$" "$dir/$1"
}

read_end() { # sets end; a file that is missing or damaged changes nothing
    line=
    { read -r line <"$dir/ends-at"; } 2>/dev/null
    case $line in
    '' | *[!0-9]*) ;;
    *) end=$line ;;
    esac
}

nap() { # SECONDS of the node's clock; at least 0.1 and at most 15 of the machine's
    tenths=$(($1 * 10000 / permille))
    [ "$tenths" -le 150 ] || tenths=150
    [ "$tenths" -ge 1 ] || tenths=1
    sleep $((tenths / 10)).$((tenths % 10))
}

rest() { # SECONDS of the node's clock
    tick
    rested=$((now + $1))
    while tick && [ "$now" -lt "$rested" ]; do
        nap $((rested - now))
    done
}

power_off() { # systemctl and shutdown reach systemd over a socket of its own where there is no bus
    for how in 'systemctl poweroff -i' 'shutdown -h now' 'systemctl poweroff -f' 'poweroff -f' 'systemctl poweroff -ff'; do
        # shellcheck disable=SC2086
        timeout 60 $how && rest 120
    done
    for key in s u o; do # the kernel: write the disks, make them read-only, off
        [ ! -w "$sysrq" ] || echo "$key" >"$sysrq"
        rest 3
    done
}

leave_cgroup() { # or the end of cloud-init.service, which a failure brings, or of a login would end us too
    for top in "$cgroups" "$cgroups/systemd" "$cgroups/unified"; do
        [ ! -w "$top/cgroup.procs" ] || { mkdir -p "$top/rb-switch" && echo $$ >"$top/rb-switch/cgroup.procs"; }
    done
}

watch() {
    trap '' HUP
    { echo -1000 >/proc/self/oom_score_adj; } 2>/dev/null
    [ "${1:-}" != alone ] || leave_cgroup 2>/dev/null
    tick
    end=$((now + 3600))
    while :; do
        tick
        read_end
        put seen "$$ $now $end"
        [ "$now" -lt "$end" ] || power_off
        nap $((end - now))
    done
}

alive() { # is a watchdog there, and did it look lately? sets end to what it knows
    pid='' seen='' known=''
    { read -r pid seen known <"$dir/seen"; } 2>/dev/null
    case $pid:$seen:$known in
    :* | *: | *::* | *[!0-9:]*) return 1 ;;
    esac
    tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q 'switch watch' || return 1
    end=$known
    tick && [ "$seen" -le "$now" ] && [ $((now - seen)) -le $((60 * permille / 1000 + 1)) ]
}

await() {
    tries=0
    until alive; do
        tries=$((tries + 1))
        [ $tries -le 100 ] || return 1
        sleep 0.1
    done
}

start_unit() {
    [ -d "$units" ] || return 1
    cat >"$units/.rb-switch.$$" <<END
[Unit]
Description=Ends this node when rubberband has not been heard from for too long
DefaultDependencies=no
IgnoreOnIsolate=yes
RefuseManualStop=yes
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh $dir/switch watch
Restart=always
RestartSec=1
OOMScoreAdjust=-1000
END
    mv -f "$units/.rb-switch.$$" "$units/rb-switch.service" || return 1
    timeout 20 systemctl --no-block start rb-switch.service
}

start_alone() {
    setsid sh "$dir/switch" watch alone </dev/null >>"$dir/log" 2>&1 &
}

start() {
    rm -f "$dir/seen"
    { start_unit && await; } || { start_alone && await; }
}

report() { # WHY, if it is not armed
    if alive; then
        read_end
        tick
        echo "rb-switch armed $((end - now))"
    else
        echo "rb-switch not-armed $1"
    fi
}

move_end() { # SECONDS from now
    tick && put ends-at $((now + $1))
}

main() {
    case $1 in
    beat)
        [ "$2" -eq 0 ] || move_end "$2"
        alive || start
        report 'its watchdog does not start'
        ;;
    look) report 'no watchdog runs' ;;
    watch) watch "${2:-}" ;;
    esac
}

main "$@"
