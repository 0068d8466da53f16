// Which errors there are. Every error has a class, on which programs act, and a number, under which people find its cause
// and remedy: `rbplan explain RB1112`, docs/errors. A number stands for one thing that a person does differently, not for
// one place in the sources. Numbers are permanent: none is ever given another meaning or used again, and one that is no
// longer raised keeps its row, under a name that begins with "retired-".
#ifndef RB_BASE_ERR_CATALOG_H
#define RB_BASE_ERR_CATALOG_H

// A class exists only because some caller acts on it.
enum rb_err_code {
    RB_ERR_NONE = 0,
    RB_ERR_INVALID,         // usage or bad input: exit 2
    RB_ERR_IO,              // the operating system or a peer failed: exit 1
    RB_ERR_NOT_FOUND,       // the named thing does not exist: exit 1 (the caller may turn it into a default)
    RB_ERR_INFEASIBLE,      // no plan satisfies the constraints: exit 3
    RB_ERR_STOPPED,         // deadline missed or budget stop while running: exit 4
    RB_ERR_DENIED,          // credentials, permission or quota: exit 5
    RB_ERR_CAPACITY,        // the cloud has no such machine now: exit 6, or the next offer
    RB_ERR_PRICE,           // price missing or too old: exit 7
    RB_ERR_THROTTLED,       // asked to slow down: retry with the same token
    RB_ERR_UNKNOWN_OUTCOME, // sent, no answer: never retried blind, looked up by token first
    RB_ERR_INCOMPLETE,      // the run is over and no trial was trained to the end: exit 8
    RB_ERR_BROKEN_SCRIPT,   // the training script fails whatever it is given: exit 9
};

// In ascending order, by area; 1000 + class is the general number of a class.
enum rb_err_number {
    RB_E_NONE = 0,

    // RB10xx the command line
    RB_E_ANY_INVALID = 1001,
    RB_E_ANY_IO = 1002,
    RB_E_ANY_NOT_FOUND = 1003,
    RB_E_ANY_INFEASIBLE = 1004,
    RB_E_ANY_STOPPED = 1005,
    RB_E_ANY_DENIED = 1006,
    RB_E_ANY_CAPACITY = 1007,
    RB_E_ANY_PRICE = 1008,
    RB_E_ANY_THROTTLED = 1009,
    RB_E_ANY_UNKNOWN_OUTCOME = 1010,
    RB_E_ANY_INCOMPLETE = 1011,
    RB_E_ANY_BROKEN_SCRIPT = 1012,
    RB_E_OPTION_UNKNOWN = 1021,
    RB_E_OPTION_VALUE = 1022,
    RB_E_OPTION_REPEATED = 1023,
    RB_E_OPTION_NEEDS_VALUE = 1024,
    RB_E_OPTION_TAKES_NO_VALUE = 1025,
    RB_E_OPTIONS_CONFLICT = 1026,
    RB_E_OPTION_ALONE = 1027,
    RB_E_OPERANDS = 1028,
    RB_E_SUBCOMMAND = 1029,
    RB_E_NOT_CONFIRMED = 1030,
    RB_E_STDIN_ONCE = 1031,
    RB_E_OVERRIDE_KEY = 1032,
    RB_E_WHERE_UNSAID = 1033,
    RB_E_TERMINAL = 1034,
    RB_E_OPEN_FILES = 1035,
    RB_E_SCRIPT_FOR_JOB = 1040,

    // RB11xx files and formats
    RB_E_FILE_MISSING = 1101,
    RB_E_FILE_READ = 1102,
    RB_E_FILE_WRITE = 1103,
    RB_E_DIRECTORY = 1104,
    RB_E_FILE_TOO_LARGE = 1105,
    RB_E_FILE_EXISTS = 1106,
    RB_E_STDOUT = 1107,
    RB_E_PATH_TOO_LONG = 1108,
    RB_E_MEMORY = 1109,
    RB_E_SYSTEM = 1110,
    RB_E_SYNTAX = 1111,
    RB_E_KEY_UNKNOWN = 1112,
    RB_E_KEY_MISSING = 1113,
    RB_E_KEY_REPEATED = 1114,
    RB_E_TYPE_WRONG = 1115,
    RB_E_OUT_OF_RANGE = 1116,
    RB_E_CHOICE = 1117,
    RB_E_DURATION = 1118,
    RB_E_MONEY = 1119,
    RB_E_SIZE = 1120,
    RB_E_INSTANT = 1121,
    RB_E_NOT_FINITE = 1122,
    RB_E_LIST_LENGTH = 1123,
    RB_E_LIST_REPEATED = 1124,
    RB_E_TEXT_FORM = 1125,
    RB_E_ORDER = 1126,
    RB_E_KEYS_TOGETHER = 1127,
    RB_E_FORMAT_WRONG = 1128,
    RB_E_NOT_SUPPORTED = 1129,
    RB_E_CSV_SYNTAX = 1131,
    RB_E_CSV_COLUMN = 1132,
    RB_E_CSV_VALUE = 1133,
    RB_E_CSV_EMPTY = 1134,

    // RB12xx the job file
    RB_E_JOB_ENVIRONMENT = 1201,
    RB_E_SECRET_UNSET = 1202,
    RB_E_PARAMETER_FORM = 1203,
    RB_E_PARAMETER_RANGE = 1204,
    RB_E_GRID = 1205,
    RB_E_SCHEDULER_KEYS = 1206,
    RB_E_SCHEDULER_SIZE = 1207,
    RB_E_TRIAL_GPUS = 1208,
    RB_E_INFRA = 1209,
    RB_E_CONFIDENCE = 1210,
    RB_E_WORKDIR = 1211,
    RB_E_WORKDIR_LARGE = 1212,
    RB_E_SHARED_DIRECTORY = 1213,
    RB_E_DEADLINE_PAST = 1214,
    RB_E_POLICY = 1215,
    RB_E_DATA_PRICE = 1216,
    RB_E_POOL_JOBS = 1217,
    RB_E_JOB_TOOL = 1218,
    RB_E_JOB_FOREIGN = 1219,
    RB_E_JOB_LACKS = 1220,
    RB_E_LINT_SCRIPT = 1225,
    RB_E_LINT_VARIABLE = 1226,
    RB_E_LINT_OPTION = 1227,
    RB_E_LINT_UNUSED = 1228,
    RB_E_LINT_VALUES = 1229,
    RB_E_LINT_QUOTED = 1230,
    RB_E_LINT_TO_DO = 1231,

    // RB13xx profiles and their store
    RB_E_PROFILE_MISSING = 1301,
    RB_E_STORE_PLACE = 1302,
    RB_E_STORE_FOREIGN = 1303,
    RB_E_STORE_NEWER = 1304,
    RB_E_STORE_DAMAGED = 1305,
    RB_E_STORE_BUSY = 1306,
    RB_E_STORE_FILE = 1307,
    RB_E_STORE_FULL = 1308,
    RB_E_NOT_MEASURED = 1311,
    RB_E_DISTRIBUTION = 1312,
    RB_E_FIT_SAMPLES = 1313,
    RB_E_PROFILE_MODEL = 1314,
    RB_E_MEASURING_PLAN = 1315,
    RB_E_MEASURING_FAILED = 1316,
    RB_E_IMPORT_KIND = 1317,

    // RB14xx prices and machines on offer
    RB_E_PRICE_UNKNOWN = 1401,
    RB_E_PRICE_OLD = 1402,
    RB_E_PRICE_ABSURD = 1403,
    RB_E_PRICE_TEXT = 1404,
    RB_E_DISK_PRICE = 1405,
    RB_E_NO_SUCH_MACHINE = 1406,
    RB_E_TOO_MANY_MACHINES = 1407,
    RB_E_CLOUD_PRICES = 1408,
    RB_E_NOBODY_SELLS = 1409,
    RB_E_PRICE_NOT_AGREED = 1410,

    // RB15xx plans
    RB_E_PLAN_EXPECTED = 1501,
    RB_E_PLAN_CHANGED = 1502,
    RB_E_PLAN_STAGES = 1503,
    RB_E_PLAN_OFFERS = 1504,
    RB_E_PLAN_ESTIMATE = 1505,

    // RB20xx planning
    RB_E_NO_PLAN = 2001,
    RB_E_NO_END = 2002,
    RB_E_PLAN_LATE = 2003,
    RB_E_NO_SIZE = 2004,
    RB_E_NO_OFFER = 2005,
    RB_E_MEMORY_LIMIT = 2006,
    RB_E_MEAN_PLANNER = 2007,
    RB_E_WHAT_IF = 2008,
    RB_E_PACKING = 2009,
    RB_E_SCENARIO_SIZE = 2010,
    RB_E_SAMPLER_LIMIT = 2011,

    // RB30xx clouds
    RB_E_CREDENTIALS_MISSING = 3001,
    RB_E_CREDENTIALS_UNUSABLE = 3002,
    RB_E_CREDENTIALS_EXPIRED = 3003,
    RB_E_CREDENTIALS_OPEN = 3004,
    RB_E_CREDENTIAL_PROCESS = 3005,
    RB_E_CREDENTIALS_FILE = 3006,
    RB_E_CREDENTIALS_SETTING = 3007,
    RB_E_PERMISSION = 3011,
    RB_E_QUOTA = 3012,
    RB_E_CAPACITY = 3013,
    RB_E_THROTTLED = 3014,
    RB_E_OUTCOME_UNKNOWN = 3015,
    RB_E_UNREACHABLE = 3016,
    RB_E_REFUSED = 3017,
    RB_E_CLOUD_NOT_FOUND = 3018,
    RB_E_CLOUD_STATE = 3019,
    RB_E_ANSWER = 3020,
    RB_E_ENDLESS = 3021,
    RB_E_ENDPOINT = 3022,
    RB_E_MOCK_ENDPOINT = 3023,
    RB_E_REGION = 3024,
    RB_E_IMAGE = 3025,
    RB_E_LAUNCH = 3026,
    RB_E_USER_DATA = 3027,
    RB_E_HTTP_LIBRARY = 3028,
    RB_E_PROGRAM = 3029,
    RB_E_HTTP_REQUEST = 3030,

    // RB31xx Amazon EC2
    RB_E_EC2_DRY_RUN = 3101,
    RB_E_EC2_TYPES = 3102,

    // RB32xx Google Compute Engine
    RB_E_GCP_PROJECT = 3201,
    RB_E_GCP_MACHINE = 3202,
    RB_E_GCP_NETWORK = 3203,
    RB_E_GCP_LIFETIME = 3204,
    RB_E_GCP_LABELS = 3205,
    RB_E_GCP_INSTANCE = 3206,
    RB_E_GCP_ZONES = 3207,
    RB_E_GCP_NO_ZONE = 3208,

    // RB33xx Slurm
    RB_E_SLURM_URL = 3301,
    RB_E_SLURM_TOKEN = 3302,
    RB_E_SLURM_VERSION = 3303,
    RB_E_SLURM_TYPE = 3304,
    RB_E_SLURM_LAUNCH = 3305,
    RB_E_SLURM_MAILBOX = 3306,
    RB_E_SLURM_MAILBOX_OPEN = 3307,

    // RB34xx this machine
    RB_E_LOCAL_LAUNCH = 3401,
    RB_E_LOCAL_BUSY = 3402,
    RB_E_LOCAL_NODE = 3403,
    RB_E_LENT_ELSEWHERE = 3404,

    // RB40xx runs
    RB_E_RUN_UNKNOWN = 4001,
    RB_E_RUN_AMBIGUOUS = 4002,
    RB_E_RUN_BUSY = 4003,
    RB_E_RUN_EXISTS = 4004,
    RB_E_STATE_DIRECTORY = 4005,
    RB_E_RUN_OF_POOL = 4006,
    RB_E_JOURNAL_WRITE = 4011,
    RB_E_JOURNAL_MISSING = 4012,
    RB_E_JOURNAL_VERSION = 4013,
    RB_E_JOURNAL_DAMAGED = 4014,
    RB_E_REPLAY_DIFFERS = 4015,
    RB_E_INSTANCES_LEFT = 4021,
    RB_E_STOP_FAILED = 4022,
    RB_E_LISTING_DENIED = 4023,
    RB_E_GC_UNSURE = 4024,
    RB_E_NOT_IN_USE = 4025,
    RB_E_STOP_SUSPENDED = 4026,
    RB_E_NO_TRIAL_FINISHED = 4030,

    // RB41xx nodes
    RB_E_NODE_NOT_READY = 4101,
    RB_E_NODE_LOST = 4102,
    RB_E_NODE_SETUP = 4103,
    RB_E_SSH_DENIED = 4104,
    RB_E_SSH_FILES = 4105,
    RB_E_SWITCH_NOT_ARMED = 4106,
    RB_E_SWITCH_NOT_MOVED = 4107,

    // RB42xx trials and checkpoints
    RB_E_TRIAL_UNKNOWN = 4201,
    RB_E_CHECKPOINT_SAVE = 4202,
    RB_E_CHECKPOINT_ARCHIVE = 4203,
    RB_E_CHECKPOINT_BUCKET = 4204,
    RB_E_PROCESS_START = 4205,
    RB_E_MACHINE_FULL = 4206,
    RB_E_SCRIPT_BROKEN = 4210,

    // RB50xx simulation
    RB_E_SIM_ENDLESS = 5001,
    RB_E_CURVES = 5002,
    RB_E_APPS = 5003,
    RB_E_TRACE_JOBS = 5004,
    RB_E_TRACE_CLUSTER = 5005,
    RB_E_TRACE_RULES = 5006,
    RB_E_WITHOUT_QHULL = 5007,

    // RB60xx the mock cloud
    RB_E_MOCK_SOCKET = 6001,
    RB_E_MOCK_SSHD = 6002,
    RB_E_MOCK_ACCOUNT = 6003,
    RB_E_MOCK_NETWORK = 6004,
    RB_E_MOCK_SYSTEM = 6005,
    RB_E_CHAOS = 6006,
    RB_E_MOCK_CLOUD = 6007,
    RB_E_MOCK_USER_DATA = 6008,
    RB_E_MOCK_KEYS = 6009,
    RB_E_MOCK_NODE = 6010,
    RB_E_MOCK_CUT = 6011,
    RB_E_MOCK_PRICES = 6012,

    // RB70xx reports and pictures
    RB_E_PICTURE_NAME = 7001,
    RB_E_PICTURE_BUILD = 7002,
    RB_E_PICTURE_DRAWING = 7003,
    RB_E_REPORT_FORMAT = 7004,
    RB_E_LIVE_SOCKET = 7005,
};

struct rb_err_entry {
    int number;
    enum rb_err_code code; // the class follows from the number
    const char *name;      // for lists and anchors: lower case, words joined by -
    const char *cause;     // one sentence
    const char *remedy;    // one sentence or two: what to do next
    const char *example;   // such a message, as printed behind the command's name
};

// A hundred numbers, or several hundreds, of one place.
struct rb_err_area {
    int first;
    const char *title, *scope;
};

// The row of a number; NULL if there never was one.
const struct rb_err_entry *rb_err_entry(int number);
// All rows, ascending.
const struct rb_err_entry *rb_err_entries(int *out_n);
// The area a number lies in; number >= 1000.
const struct rb_err_area *rb_err_area(int number);

#endif
