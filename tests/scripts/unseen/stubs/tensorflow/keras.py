import time, sys
class layers:
    Dense = Dropout = staticmethod(lambda n: n)
class Sequential:
    def __init__(self, layers): self.l = layers
    def compile(self, **k): pass
    def fit(self, x, y, epochs, validation_split):
        for e in range(epochs):
            print("Epoch %d/%d" % (e + 1, epochs))
            for i in range(1, 11):
                time.sleep(0.005)
                sys.stdout.write("\r\x1b[1m%2d/10\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - loss: %.4f - mae: %.4f" % (i, 1 / (e + 1), .5 / (e + 1)))
            sys.stdout.write("\r\x1b[1m10/10\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 5ms/step - loss: %.4f - mae: %.4f - val_loss: %.4f - val_mae: %.4f\n" % (1 / (e + 1), .5 / (e + 1), 1.1 / (e + 1), .6 / (e + 1)))
            sys.stdout.flush()
    def save(self, name): open(name, "w").close()
