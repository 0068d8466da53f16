import sys

lr = float(sys.argv[1])
batch_size = int(sys.argv[2])
epochs = int(sys.argv[3])
out = sys.argv[4]
for epoch in range(epochs):
    print("epoch=" + str(epoch + 1), "test_error=" + str(0.1))
