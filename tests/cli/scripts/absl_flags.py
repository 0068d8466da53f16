from absl import app, flags, logging

FLAGS = flags.FLAGS
flags.DEFINE_float("learning_rate", 3e-4, "step")
flags.DEFINE_integer("hidden", 128, "width")
flags.DEFINE_enum("schedule", "cosine", ["cosine", "linear"], "how it falls")
flags.DEFINE_bool("augment", True, "whether")
flags.DEFINE_integer("train_steps", 10000, "how long")
flags.DEFINE_string("model_dir", None, "where")


def main(_):
    for step in range(FLAGS.train_steps):
        logging.info("step=%d eval_accuracy=%.3f", step, 0.5)


app.run(main)
