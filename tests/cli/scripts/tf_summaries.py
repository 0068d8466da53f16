"""Read, never run: a TensorFlow loop of its own that writes event files of train and test, as katib's example does."""
import argparse
import os

import tensorflow as tf


def train_step(args, epoch, writer, loss, accuracy):
    for step in range(10):
        if step % args.log_interval == 0:
            print("Train Epoch: {} [{}/60000 ({:.0f}%)]\tloss={:.4f}, accuracy={:.4f}".format(
                epoch + 1, step, 10. * step, loss.result(), accuracy.result()))
    with train_summary_writer.as_default():
        tf.summary.scalar('loss', loss.result(), step=epoch)
        tf.summary.scalar('accuracy', accuracy.result(), step=epoch)


def test_step(epoch, test_summary_writer, loss, accuracy):
    with test_summary_writer.as_default():
        tf.summary.scalar('loss', loss.result(), step=epoch)
        tf.summary.scalar('accuracy', accuracy.result(), step=epoch)
    print("Test Loss: {:.4f}, Test Accuracy: {:.4f}\n".format(loss.result(), accuracy.result() * 100))


parser = argparse.ArgumentParser()
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--learning-rate', type=float, default=0.001)
parser.add_argument('--epochs', type=int, default=10)
parser.add_argument('--log-interval', type=int, default=100)
parser.add_argument('--log-path', type=str, default=os.path.join(os.getenv('TEST_TMPDIR', '/tmp'), 'logs'))
args = parser.parse_args()
train_log_dir = os.path.join(args.log_path, 'train')
test_log_dir = os.path.join(args.log_path, 'test')
train_summary_writer = tf.summary.create_file_writer(train_log_dir)
test_summary_writer = tf.summary.create_file_writer(test_log_dir)
for epoch in range(args.epochs):
    train_step(args, epoch, train_summary_writer, *measures('train'))
    test_step(epoch, test_summary_writer, *measures('test'))
