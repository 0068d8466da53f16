import click


@click.command()
@click.option("--learning-rate", default=0.01, show_default=True)
@click.option("--layers", type=int, default=4)
@click.option("--optimizer", type=click.Choice(["sgd", "adam"]), default="adam")
@click.option("--nesterov/--no-nesterov", default=False)
@click.option("--amp", is_flag=True)
@click.option("--max-epochs", type=click.IntRange(1), default=30)
@click.option("--out-dir", type=click.Path(), default="out")
def main(learning_rate, layers, optimizer, nesterov, amp, max_epochs, out_dir):
    for epoch in range(1, max_epochs + 1):
        click.echo("epoch={} val_loss={:.4f} lr={}".format(epoch, 1.0 / epoch, learning_rate))


main()
