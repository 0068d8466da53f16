#!/usr/bin/env python3
"""Reads every call that makes an error and holds it against the catalogue (base/errors/err_catalog.def): each call names a number of
its own, each number is used, and each is made to happen by a test or stands in UNTESTED with the reason.
Usage: check_errors.py SOURCE_ROOT"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
SOURCES = ["base", "profiles", "engine", "simulator", "planner", "providers", "executor", "views", "commands", "library"]
# Of errors that are made without a number, in files that are being written: may only fall.
WITHOUT_NUMBER_AT_MOST = 0
# What no test makes happen, and why.
UNTESTED = {
    "RB_E_CHECKPOINT_ARCHIVE": "reported as a note of the run: tests/launchers has hostile archives",
    "RB_E_CHECKPOINT_BUCKET": "needs a run whose checkpoints lie in a bucket",
    "RB_E_CHECKPOINT_SAVE": "reported as a note of the run: tests/launchers announces a checkpoint that is not there",
    "RB_E_CREDENTIALS_FILE": "needs a file that its owner may not read, and tests may run as root",
    "RB_E_DETACH": "needs a process that dies in the moments before its run has begun, or a machine without /proc",
    "RB_E_EC2_TYPES": "needs more instance types than one question may have",
    "RB_E_ENDLESS": "needs a listing of a thousand pages",
    "RB_E_HTTP_LIBRARY": "needs a libcurl that is too old",
    "RB_E_HTTP_REQUEST": "comes from no input: a caller without an HTTP client",
    "RB_E_LENT_ELSEWHERE": "comes from no job file: the infra is not written there",
    "RB_E_LISTING_DENIED": "needs a permission that is taken away while no one carries the run out",
    "RB_E_LIVE_SOCKET": "needs a run whose page is asked for on a taken port",
    "RB_E_MACHINE_LEFT": "needs a cloud that takes five minutes to end a machine",
    "RB_E_MEMORY": "needs a machine without memory",
    "RB_E_MOCK_ACCOUNT": "needs a locked account",
    "RB_E_MOCK_CUT": "reported by rbmock's own door, which has statuses: tests/providers/ec2/rbmock_test.c",
    "RB_E_MOCK_NETWORK": "needs root, or its absence: the message depends on who runs the test",
    "RB_E_MOCK_NODE": "reported by rbmock's own door, which has statuses: tests/providers/ec2/rbmock_test.c",
    "RB_E_MOCK_SSHD": "needs a machine without OpenSSH",
    "RB_E_MOCK_SYSTEM": "needs an operating system that refuses processes or files",
    "RB_E_MOCK_USER_DATA": "reported by an instance that does not boot: tests/mock/test_user_data.c makes it happen",
    "RB_E_NODE_LOST": "reported as a note of the run: tests/executor/controller/test_controller.c",
    "RB_E_NODE_SETUP": "reported as a note of the run: tests/executor/controller/test_controller.c puts words of its own in its place",
    "RB_E_PICTURE_BUILD": "needs a build with -Dpictures=disabled",
    "RB_E_PROCESS_START": "needs a machine without ssh",
    "RB_E_REPLAY_DIFFERS": "needs a journal of another engine",
    "RB_E_REPORT_FORMAT": "comes from no file: reports are read back from the journal",
    "RB_E_RUN_OF_POOL": "tests/executor/pool/pool_runs.py makes it happen and looks at the exit code alone",
    "RB_E_SLURM_LAUNCH": "comes from no job file that passed its checks",
    "RB_E_SLURM_MAILBOX": "needs a shared directory that cannot be written, and tests may run as root",
    "RB_E_SLURM_MAILBOX_OPEN": "needs a shared directory of another user",
    "RB_E_SLURM_URL": "needs a run on Slurm whose address is not named",
    "RB_E_SLURM_VERSION": "needs a slurmrestd of another age",
    "RB_E_STOP_FAILED": "needs a process of another user",
    "RB_E_STOP_SUSPENDED": "needs a process that stays stopped for half a minute; tests/executor/gc/leases.py has one that goes on",
    "RB_E_STORE_FULL": "needs ten million samples",
    "RB_E_SYSTEM": "needs an operating system without random numbers or threads",
    "RB_E_TERMINAL": "needs a terminal that cannot be set",
    "RB_E_TRIAL_UNKNOWN": "needs a run that is fetched from before it has saved anything",
    "RB_E_WITHOUT_QHULL": "needs a build with -Dqhull=disabled",
    "RB_E_WORKDIR_LARGE": "needs a gigabyte of files",
}

catalogue = (root / "base/errors/err_catalog.def").read_text(encoding="utf-8")
numbers = {"RB_E_" + name: int(value) for value, name in re.findall(r"^E\((\d+), (\w+),", catalogue, re.M)}
general = {name for name in numbers if name.startswith("RB_E_ANY_")}
retired = {"RB_E_" + name for name in re.findall(r'^E\(\d+, (\w+), \w+, "retired-', catalogue, re.M)}


def text_of(path):
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


used, nameless, n_calls = set(), [], 0
for path in sorted(p for folder in SOURCES for p in (root / folder).rglob("*.c")):
    if path.name == "err_catalog.c":
        continue
    text = text_of(path)
    used |= set(re.findall(r"\bRB_E_[A-Z0-9_]+\b", text))
    n_calls += len(re.findall(r"\b(?:rb_err_set|rb_err_set_at|rb_node_refuse)\(", text))
    for m in re.finditer(r"\brb_err_set(?:_at)?\(\s*[^,()]+,\s*(RB_ERR_\w+)|\.code = (RB_ERR_(?!NONE)\w+)|\brb_node_error\(",
                         text):
        where = "%s:%d" % (path.relative_to(root), text.count("\n", 0, m.start()) + 1)
        nameless.append("%s: this error names no number (base/errors/err_catalog.def)" % where)

seen = set()
by_number = {str(value): name for name, value in numbers.items()}
for path in sorted((root / "tests").rglob("*")):
    if path.suffix in (".c", ".py", ".txt", ".sh", ".md") and path.name not in ("check_errors.py", "test_err_catalog.c"):
        text = path.read_text(encoding="utf-8", errors="replace")
        seen |= set(re.findall(r"\bRB_E_[A-Z0-9_]+\b", text))
        seen |= {by_number[n] for n in re.findall(r"\bRB(\d{4})\b", text) if n in by_number}

problems = []
if len(nameless) > WITHOUT_NUMBER_AT_MOST:
    problems += nameless
problems += ["%s: no call uses it; give it to one, or retire it" % n for n in sorted(set(numbers) - used - general - retired)]
problems += ["%s: no test makes it happen; write one, or say in UNTESTED why there is none" % n
             for n in sorted((set(numbers) - general - retired) - seen - set(UNTESTED))]
problems += ["%s stands in UNTESTED, and a test makes it happen" % n for n in sorted(set(UNTESTED) & seen)]
problems += ["%s stands in UNTESTED, and there is no such number" % n for n in sorted(set(UNTESTED) - set(numbers))]
# Exit codes: what the documentation says of each class is what the programs do.
codes = dict(re.findall(r"(RB_CODE_\w+) = (\d+)", (root / "base/errors/exit_codes.h").read_text(encoding="utf-8")))
codes_page = (root / "docs/formats/json.md").read_text(encoding="utf-8")
for name, code in re.findall(r'\{"(\w+)", (RB_CODE_\w+)\}', (root / "base/errors/err.c").read_text(encoding="utf-8")):
    if name != "none" and not re.search(r"^\| [^|]*`%s`[^|]*\| %s \|" % (name, codes[code]), codes_page, re.M):
        problems.append("docs/formats/json.md: no row says that `%s` ends with exit code %s" % (name, codes[code]))
for p in problems:
    print(p)
print("%d numbers, %d of them general; %d calls, %d without a number; %d tested, %d untested for a reason; %d problems"
      % (len(numbers), len(general), n_calls, len(nameless), len(seen & set(numbers) - general), len(UNTESTED),
         len(problems)))
if n_calls < 500:
    sys.exit("too few calls were found: is %s the source tree?" % root)
sys.exit(1 if problems else 0)
