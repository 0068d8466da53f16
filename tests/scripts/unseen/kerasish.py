import sys, time, argparse
from tensorflow import keras

parser = argparse.ArgumentParser()
parser.add_argument("--units", type=int, default=128)
parser.add_argument("--dropout", type=float, default=0.2)
parser.add_argument("--optimizer", choices=["adam", "sgd"], default="adam")
parser.add_argument("--epochs", type=int, default=12)
FLAGS = parser.parse_args()

model = keras.Sequential([keras.layers.Dense(FLAGS.units), keras.layers.Dropout(FLAGS.dropout), keras.layers.Dense(10)])
model.compile(optimizer=FLAGS.optimizer, loss="mse", metrics=["mae"])
model.fit(None, None, epochs=FLAGS.epochs, validation_split=0.1)
model.save("model.keras")
