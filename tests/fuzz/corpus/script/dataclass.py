from transformers import HfArgumentParser, TrainingArguments
@dataclass
class A:
    lr: float = field(default=1e-3, metadata={"help": "x"})
    n: int = 3
    s: Optional[str] = None
HfArgumentParser((A, TrainingArguments)).parse_args_into_dataclasses()
