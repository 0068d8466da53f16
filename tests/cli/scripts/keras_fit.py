import argparse

from tensorflow import keras

parser = argparse.ArgumentParser()
parser.add_argument("--units", type=int, default=32)
parser.add_argument("--n_epochs", type=int, default=12)
args = parser.parse_args()
model = keras.Sequential([keras.layers.Dense(args.units)])
model.compile("adam", "mse", metrics=["accuracy"])
model.fit([], [], epochs=args.n_epochs, validation_split=0.1)
