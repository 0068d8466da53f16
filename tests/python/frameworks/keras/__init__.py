"""Stands in for Keras: a Model whose fit() counts epochs from 0, from initial_epoch on, and sets the model of its callbacks."""
import json


class Model:
    stop_training = False
    trained = 0

    def fit(self, epochs, initial_epoch=0, callbacks=()):
        for callback in callbacks:
            callback.set_model(self)
            callback.on_train_begin()
        for epoch in range(initial_epoch, epochs):
            self.trained += 1
            logs = {"loss": 1 / self.trained, "val_accuracy": 0.1 * self.trained}
            for callback in callbacks:
                callback.on_epoch_end(epoch, logs)
            if self.stop_training:
                break

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"trained": self.trained}, f)


def load_model(path):
    model = Model()
    with open(path, encoding="utf-8") as f:
        model.trained = json.load(f)["trained"]
    return model
