from absl import app, flags
FLAGS = flags.FLAGS
flags.DEFINE_float("lr", 0.1, "r")
flags.DEFINE_bool("b", True, "")
logging.info("step=%d loss=%f", s, l)
