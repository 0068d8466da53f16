"""Read, never run: a typer program."""
import typer
from typing_extensions import Annotated


def main(data: str, lr: float = 1e-3, batch_size: int = typer.Option(64, "--batch", help="size"), amp: bool = False,
         dropout: Annotated[float, typer.Option(help="share")] = 0.1, epochs: int = 12, out_dir: str = "out"):
    for epoch in range(epochs):
        print(f"epoch {epoch}: val_acc {run(lr, epoch):.4f}")


typer.run(main)
