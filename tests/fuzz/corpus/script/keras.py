import keras
model.fit(x, y, epochs=3, validation_data=(a, b))
print("loss: %.3f, acc: {}".format(a))
