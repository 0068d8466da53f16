batch_size = 12 # x
learning_rate = 6e-4
exec(open("configurator.py").read())
print(f"iter {i}: loss {l:.4f}")
