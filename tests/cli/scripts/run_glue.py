"""Read, never run: the dataclasses of transformers' run_glue.py."""
from dataclasses import dataclass, field
from typing import Optional

from transformers import HfArgumentParser, Trainer, TrainingArguments
from transformers.utils import check_min_version

check_min_version("4.38.0.dev0")


@dataclass
class DataTrainingArguments:
    task_name: Optional[str] = field(default=None, metadata={"help": "the task"})
    dataset_name: Optional[str] = field(default=None)
    max_seq_length: int = field(default=128)
    overwrite_cache: bool = field(default=False)
    pad_to_max_length: bool = field(default=True)
    max_train_samples: Optional[int] = field(default=None)
    train_file: Optional[str] = field(default=None)

    def __post_init__(self):
        if self.task_name is None and self.train_file is None:
            raise ValueError("Need either a GLUE task or a training file.")


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "a model"})
    config_name: Optional[str] = field(default=None)
    use_fast_tokenizer: bool = field(default=True)
    token: str = field(default=None)
    ignore_mismatched_sizes: bool = field(default=False)


def main():
    parser = HfArgumentParser((ModelArguments, DataTrainingArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    trainer = Trainer(args=training_args)
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.log_metrics("train", {})


main()
