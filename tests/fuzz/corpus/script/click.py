import click
@click.command()
@click.option("--n", default=3, help="x")
@click.option("--a/--no-a")
def main(n, a):
    wandb.log({"val_loss": l, "epoch": e})
