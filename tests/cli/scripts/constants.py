import torch

BATCH_SIZE = 128
LR = 0.05
EPOCHS = 40
DATA = "/data"

for epoch in range(EPOCHS):
    val_acc = 0.5
    print("Epoch %d/%d, Val Acc: %.3f" % (epoch, EPOCHS, val_acc))
