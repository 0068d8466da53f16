"""Read, never run: options and habits of a script that trains with Keras before 2.3 under Horovod, and looks for its own checkpoints."""
import argparse
import os

import keras
import tensorflow as tf
from keras import backend as K

parser = argparse.ArgumentParser()
parser.add_argument('--train-dir', default=os.path.expanduser('~/train'), help='training data')
parser.add_argument('--val-dir', default=os.path.expanduser('~/validation'), help='validation data')
parser.add_argument('--log-dir', default='./logs')
parser.add_argument('--checkpoint-format', default='./checkpoint-{epoch}.h5')
parser.add_argument('--fp16-allreduce', action='store_true', default=False)
parser.add_argument('--batch-size', type=int, default=32)
parser.add_argument('--val-batch-size', type=int, default=32)
parser.add_argument('--epochs', type=int, default=90)
parser.add_argument('--base-lr', type=float, default=0.0125)
parser.add_argument('--warmup-epochs', type=float, default=5)
parser.add_argument('--momentum', type=float, default=0.9)
parser.add_argument('--wd', type=float, default=0.00005)
args = parser.parse_args()

K.set_session(tf.Session(config=tf.ConfigProto()))
first = 0
for epoch in range(args.epochs, 0, -1):
    if os.path.exists(args.checkpoint_format.format(epoch=epoch)):
        first = epoch
        break
model = keras.applications.resnet50.ResNet50(weights=None)
model.compile(loss='categorical_crossentropy', optimizer=keras.optimizers.SGD(lr=args.base_lr), metrics=['accuracy'])
model.fit_generator(batches(args.train_dir), epochs=args.epochs, initial_epoch=first, validation_data=batches(args.val_dir),
                    callbacks=[keras.callbacks.ModelCheckpoint(args.checkpoint_format)])
score = model.evaluate_generator(batches(args.val_dir))
print('Test loss:', score[0])
print('Test accuracy:', score[1])
