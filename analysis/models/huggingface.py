"""Vision-language models of transformers: any image-text-to-text model, by its own processor and
chat template.

All get the same: full-resolution pixels, the task's words, no system prompt of ours, greedy
decoding, one seed. What a processor made of the pixels is kept with each answer.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..conversation import Conversation
from . import (
    Access,
    Answer,
    AnswerError,
    Model,
    ModelError,
    Outcome,
    UnusableModelError,
    one_of,
    whole,
)
from .pictures import read_rgb

__all__ = ["choose_device", "explain", "identify", "make_hf", "require"]

DTYPES = ("auto", "float32", "bfloat16", "float16")
QUANTISATIONS = ("none", "8bit", "4bit")
SAMPLING = ("greedy", "default")
_HASHED_WHOLE = 1 << 25
_HASHED_END = 1 << 20
_FAILURES = (ValueError, TypeError, RuntimeError, IndexError, KeyError)


def make_hf(
    target: str,
    access: Access,
    *,
    device: str = "auto",
    dtype: str = "auto",
    batch: int = 1,
    quantise: str = "none",
    max_new_tokens: int = 512,
    sample: str = "greedy",
    seed: int = 42,
    revision: str = "main",
) -> Model:
    """Make the model of a repository or a directory; weights are loaded with the first question.

    Args:
        target: ``ORG/NAME`` or a directory.
        access: ``trust_remote_code``.
        device: ``auto`` (a GPU where there is one), ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or
            ``split`` over all GPUs.
        dtype: ``float32``, ``bfloat16``, ``float16``, or ``auto``: bfloat16 on a GPU, else float32.
        batch: Images at once. Another number can change answers.
        quantise: ``none``, ``8bit`` or ``4bit``, by bitsandbytes.
        max_new_tokens: The longest answer.
        sample: ``greedy``, or ``default`` for what the model's own generation settings say.
        seed: Set before each batch.
        revision: Of the repository.

    Raises:
        ModelError: A setting is impossible, packages are missing, or there is no such model.
    """
    name = f"hf:{target}"
    one_of(f"{name} dtype", dtype, DTYPES)
    one_of(f"{name} quantise", quantise, QUANTISATIONS)
    one_of(f"{name} sample", sample, SAMPLING)
    whole(f"{name} batch", batch, 1, 1024)
    whole(f"{name} max_new_tokens", max_new_tokens, 1, 65536)
    whole(f"{name} seed", seed, 0, 2**32 - 1)
    require("torch", "transformers", "accelerate", by="hf:", extra="models")
    weights = identify(target, revision, access)
    device = choose_device(device)
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith(("cuda", "split")) else "float32"
    if quantise != "none" and find_spec("bitsandbytes") is None:
        raise ModelError(f"{name} quantise={quantise} needs bitsandbytes: pip install bitsandbytes")
    settings = {
        "device": device,
        "dtype": dtype,
        "batch": batch,
        "quantise": quantise,
        "max_new_tokens": max_new_tokens,
        "sample": sample,
        "seed": seed,
        **weights,
        "trust_remote_code": access.trust_remote_code,
    }
    loaded = _Loaded(target, weights, settings)
    return Model(
        name,
        settings,
        packages=("transformers", "torch", "numpy", "pillow"),
        ask=loaded.ask,
        prepare=read_rgb,
        batch=batch,
        note="Ran code that came with its weights." if access.trust_remote_code else "",
        runtime=loaded.runtime,
        close=loaded.close,
    )


# --- what other kinds share ----------------------------------------------------------------------


def require(*packages: str, by: str, extra: str) -> None:
    """Refuse a model whose packages are not installed.

    Raises:
        ModelError: One is missing.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ModelError(
            f"{by} needs {', '.join(missing)}, which is not installed: pip install 'limen[{extra}]'"
        )


def choose_device(device: str) -> str:
    """Resolve ``auto`` and refuse a device that is not there.

    Raises:
        ModelError: It is not there.
    """
    import torch

    if device == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    kind = device.partition(":")[0]
    there = {
        "cpu": True,
        "mps": torch.backends.mps.is_available(),
        "cuda": torch.cuda.is_available(),
        "split": torch.cuda.is_available(),
    }
    if not there.get(kind):
        known = ", ".join(name for name, is_there in there.items() if is_there)
        raise ModelError(f"device is '{device}': this machine has {known}")
    return device


def identify(target: str, revision: str, access: Access) -> dict[str, str]:
    """Say which weights a name stands for: a commit, or a hash of a directory's files.

    Raises:
        ModelError: There is no such model, here or on the hub.
    """
    path = Path(target)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{path} is no model: it holds no config.json")
        return {"weights": _hash_of_files(path)}
    if target.startswith((".", "/", "~")) or "\\" in target:
        raise ModelError(f"{target}: no such directory")
    return {"weights": _commit(target, revision, access)}


def _hash_of_files(path: Path) -> str:
    """SHA-256 over the files; of large ones, their size and their ends."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if not file.is_file() or file.name.startswith("."):
            continue
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()} {size}\n".encode())
        with file.open("rb") as data:
            if size <= _HASHED_WHOLE:
                digest.update(data.read())
            else:
                digest.update(data.read(_HASHED_END))
                data.seek(-_HASHED_END, os.SEEK_END)
                digest.update(data.read())
    return f"sha256:{digest.hexdigest()}"


def _commit(target: str, revision: str, access: Access) -> str:
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(
            target, revision=revision, trust_remote_code=access.trust_remote_code
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(explain(f"hf:{target}", error)) from None
    commit = getattr(config, "_commit_hash", None)
    return f"commit:{commit or revision}"


def explain(name: str, error: BaseException) -> str:
    """Turn what transformers says into what a user can do."""
    says = " ".join(str(error).split())
    if "trust_remote_code" in says:
        return f"{name} brings its own code: look at it, then allow it with --trust-remote-code"
    if "gated" in says or "401" in says or "403" in says:
        return f"{name} is gated: accept its licence on its page and log in (hf auth login)"
    if (
        "not a local folder" in says
        or "offline" in says.lower()
        or "couldn't connect" in says.lower()
    ):
        return (
            f"there is no model {name} here, and it cannot be fetched: check the name, the "
            "network, and HF_HUB_OFFLINE"
        )
    if "Unrecognized" in says or "does not recognize" in says:
        return f"{name} is no model that this transformers can run so: {says[:300]}"
    return f"{name} cannot be loaded: {says[:300]}"


# --- asking --------------------------------------------------------------------------------------


@dataclass
class _Loaded:
    """A model and its processor, in memory from the first question on."""

    target: str
    weights: Mapping[str, str]
    settings: Mapping[str, Any]
    model: Any = None
    processor: Any = None
    image_token: int | None = None
    runtime: dict[str, Any] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, asked: Sequence[Conversation]) -> list[Outcome]:
        with self.lock:
            if self.model is None:
                self._load()
        import torch

        torch.manual_seed(self.settings["seed"])
        try:
            try:
                return self._generate(asked)
            except _FAILURES:
                if len(asked) == 1:
                    raise
            # One of a batch spoils it for all: each by itself, then.
            return [outcome for one in asked for outcome in self.ask([one])]
        except torch.cuda.OutOfMemoryError:
            raise UnusableModelError(
                f"the GPU's memory is too small for batch={self.settings['batch']}: "
                "take a smaller batch, dtype=bfloat16, quantise=4bit or device=split"
            ) from None
        except _FAILURES as error:
            says = " ".join(f"{type(error).__name__}: {error}".split())
            return [AnswerError(f"the model failed: {says[:500]}")] * len(asked)

    def close(self) -> None:
        if self.model is None:
            return
        import torch

        self.model = self.processor = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _load(self) -> None:
        import torch

        transformers: Any = importlib.import_module("transformers")
        transformers.utils.logging.disable_progress_bar()  # ours is on the screen
        trusted = self.settings["trust_remote_code"]
        options: dict[str, Any] = {"trust_remote_code": trusted}
        kind, _, commit = self.weights["weights"].partition(":")
        if kind == "commit":
            options["revision"] = commit
        device, dtype = self.settings["device"], getattr(torch, self.settings["dtype"])
        bits = self.settings["quantise"]
        placed: dict[str, Any] = {"device_map": "auto" if device == "split" else device}
        if bits != "none":
            placed["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_8bit=bits == "8bit",
                load_in_4bit=bits == "4bit",
                bnb_4bit_compute_dtype=dtype,
            )
        auto = transformers.AutoModelForImageTextToText
        try:
            self.processor = transformers.AutoProcessor.from_pretrained(self.target, **options)
            self.model = auto.from_pretrained(self.target, dtype=dtype, **placed, **options).eval()
        except (OSError, ValueError, KeyError, ImportError) as error:
            raise UnusableModelError(explain(f"hf:{self.target}", error)) from None
        if not (
            getattr(self.processor, "chat_template", None)
            or getattr(getattr(self.processor, "tokenizer", None), "chat_template", None)
        ):
            raise UnusableModelError("its processor has no chat template: it cannot be asked so")
        self.runtime["parameters"] = sum(p.numel() for p in self.model.parameters())
        tokenizer = getattr(self.processor, "tokenizer", None)
        if tokenizer is not None:
            tokenizer.padding_side = "left"  # answers begin where all questions end
        config = self.model.config
        self.image_token = next(
            (
                value
                for key in ("image_token_id", "image_token_index")
                if (value := getattr(config, key, None)) is not None
            ),
            None,
        )

    def _generate(self, asked: Sequence[Conversation]) -> list[Outcome]:
        import torch

        inputs = self.processor.apply_chat_template(
            [_messages(conversation) for conversation in asked],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": len(asked) > 1},
        )
        dtype = getattr(torch, self.settings["dtype"])
        inputs = inputs.to(self.model.device, dtype=dtype)
        decoding: dict[str, Any] = {"max_new_tokens": self.settings["max_new_tokens"]}
        if self.settings["sample"] == "greedy":
            decoding |= {"do_sample": False, "num_beams": 1, "temperature": None}
            decoding |= {"top_p": None, "top_k": None}
        with torch.inference_mode():
            output = self.model.generate(**inputs, **decoding)
        prompt_length = inputs["input_ids"].shape[1]
        answers = output[:, prompt_length:]
        texts = self.processor.batch_decode(answers, skip_special_tokens=True)
        outcomes: list[Outcome] = []
        for i, text in enumerate(texts):
            asked_tokens = inputs["input_ids"][i]
            mask = inputs.get("attention_mask")
            details = {
                "tokens_in": int(mask[i].sum()) if mask is not None else len(asked_tokens),
                "tokens_out": self._length(answers[i]),
                "received": _received(inputs, i, len(asked)),
            }
            if details["tokens_out"] >= self.settings["max_new_tokens"]:
                details["cut_off"] = True
            if self.image_token is not None:
                details["image_tokens"] = int((asked_tokens == self.image_token).sum())
            outcomes.append(Answer(text.strip(), details=details))
        return outcomes

    def _length(self, tokens: Any) -> int:
        """How many tokens an answer has, without what fills up its batch."""
        tokenizer = getattr(self.processor, "tokenizer", None)
        pad = getattr(tokenizer, "pad_token_id", None)
        return int((tokens != pad).sum()) if pad is not None else len(tokens)


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if conversation.system:
        messages.append(
            {"role": "system", "content": [{"type": "text", "text": conversation.system}]}
        )
    for i, turn in enumerate(conversation.turns):
        shown = [{"type": "image", "image": conversation.loaded[m.sha256]} for m in turn.media]
        messages.append({"role": "user", "content": [*shown, {"type": "text", "text": turn.text}]})
        if i < len(conversation.answers):
            said = [{"type": "text", "text": conversation.answers[i]}]
            messages.append({"role": "assistant", "content": said})
    return messages


def _received(inputs: Mapping[str, Any], i: int, conversations: int) -> dict[str, Any]:
    """What the processor made of a conversation's pictures: shapes, and sizes where it tells them.

    Processors that lay all pictures of a batch end to end tell only the whole of it.
    """
    found: dict[str, Any] = {}
    for key in ("pixel_values", "image_grid_thw", "image_sizes"):
        value = inputs.get(key)
        if value is None or not hasattr(value, "shape"):
            continue
        if key != "pixel_values":
            found[key] = (
                value[i : i + 1].tolist() if len(value) == conversations else value.tolist()
            )
        elif len(value) == conversations:
            found[key] = [1, *value.shape[1:]]
        else:
            found[key] = list(value.shape)
    return found
