"""Tiny random models of real architectures, made without a network."""

from pathlib import Path

__all__ = ["ARCHITECTURES", "DETECTORS", "build_detector", "build_vlm"]

ARCHITECTURES = ("llava", "idefics3", "gemma3")
DETECTORS = ("detr", "rt-detr", "yolos")

_LANGUAGE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
_VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 56,
    "patch_size": 14,
}
_NAMES = {0: "person", 1: "car"}


def build_vlm(architecture: str, root: Path) -> Path:
    """Save a model of some ten thousand random weights, with its processor and chat template."""
    import torch

    torch.manual_seed(0)
    model, processor = {"llava": _llava, "idefics3": _idefics3, "gemma3": _gemma3}[architecture]()
    path = root / architecture
    model.eval().save_pretrained(path)
    processor.save_pretrained(path)
    return path


def _tokenizer(special, **named):
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokens = list(dict.fromkeys(["<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", *special]))
    trainer = trainers.BpeTrainer(
        vocab_size=512 + len(tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=tokens,
        show_progress=False,
    )
    tokenizer.train_from_iterator(["a person walks, kicks, sneaks: yes, no, 1 or 0"] * 4, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
        extra_special_tokens=named,
    )


def _template(image):
    return (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
        "{% if m['content'] is string %}{{ m['content'] }}{% else %}"
        "{% for c in m['content'] %}{% if c['type'] == 'image' %}" + image + "{% else %}"
        "{{ c['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )


def _text(tokenizer):
    return {
        **_LANGUAGE,
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def _llava():
    import transformers as t

    tokenizer = _tokenizer(["<image>"], image_token="<image>")
    processor = t.LlavaProcessor(
        t.CLIPImageProcessor(size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56}),
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_template("<image>\\n"),
    )
    config = t.LlavaConfig(
        vision_config={"model_type": "clip_vision_model", "projection_dim": 32, **_VISION},
        text_config={"model_type": "llama", **_text(tokenizer)},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
    )
    return t.LlavaForConditionalGeneration(config), processor


def _idefics3():
    import transformers as t

    named = {
        "image_token": "<image>",
        "fake_image_token": "<fake_token_around_image>",
        "global_image_token": "<global-img>",
        "end_of_utterance_token": "<end_of_utterance>",
    }
    tokenizer = _tokenizer(list(named.values()), **named)
    size = {"longest_edge": 56}
    processor = t.Idefics3Processor(
        t.Idefics3ImageProcessor(size=size, max_image_size=size, do_image_splitting=False),
        tokenizer,
        image_seq_len=4,
        chat_template=_template("<image>"),
    )
    config = t.Idefics3Config(
        text_config={"model_type": "llama", **_text(tokenizer)},
        vision_config=_VISION,
        scale_factor=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
    )
    return t.Idefics3ForConditionalGeneration(config), processor


def _gemma3():
    import torch
    import transformers as t

    named = {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
    }
    tokenizer = _tokenizer(list(named.values()), **named)
    processor = t.Gemma3Processor(
        t.Gemma3ImageProcessor(size={"height": 56, "width": 56}),
        tokenizer,
        image_seq_length=4,
        chat_template=_template("<start_of_image>"),
    )
    number = tokenizer.convert_tokens_to_ids
    config = t.Gemma3Config(
        text_config={"head_dim": 8, "sliding_window": 64, **_text(tokenizer)},
        vision_config={**_VISION, "vision_use_head": False},
        mm_tokens_per_image=4,
        image_token_index=number("<image_soft_token>"),
        boi_token_index=number("<start_of_image>"),
        eoi_token_index=number("<end_of_image>"),
    )
    model = t.Gemma3ForConditionalGeneration(config)
    # Zero by default: no image would have any effect.
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight, std=0.2)
    return model, processor


def build_detector(architecture: str, root: Path) -> Path:
    """Save a detector of two classes, person and car, with random weights."""
    import torch
    import transformers as t

    torch.manual_seed(0)
    labels = {"id2label": _NAMES, "label2id": {name: i for i, name in _NAMES.items()}}
    edge = {"shortest_edge": 64, "longest_edge": 64}
    layers = {"embedding_size": 8, "depths": [1, 1, 1, 1], "layer_type": "basic"}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    if architecture == "yolos":
        config = t.YolosConfig(
            **{**_VISION, "image_size": [64, 64], "patch_size": 16},
            num_detection_tokens=5,
            **labels,
        )
        model, processor = t.YolosForObjectDetection(config), t.YolosImageProcessor(size=edge)
    elif architecture == "detr":
        config = t.DetrConfig(
            use_timm_backbone=False,
            backbone_config=t.ResNetConfig(
                hidden_sizes=[8, 8, 8, 8], out_features=["stage4"], **layers
            ),
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_ffn_dim=32,
            decoder_ffn_dim=32,
            num_queries=5,
            **heads,
            **labels,
        )
        model, processor = t.DetrForObjectDetection(config), t.DetrImageProcessor(size=edge)
    else:
        config = t.RTDetrConfig(
            d_model=32,
            encoder_hidden_dim=32,
            encoder_in_channels=[16, 16, 16],
            feat_strides=[8, 16, 32],
            encoder_layers=1,
            encoder_ffn_dim=32,
            decoder_layers=1,
            decoder_ffn_dim=32,
            num_queries=5,
            decoder_in_channels=[32, 32, 32],
            num_denoising=0,
            backbone_config=t.RTDetrResNetConfig(
                hidden_sizes=[8, 16, 16, 16],
                out_features=["stage2", "stage3", "stage4"],
                **layers,
            ),
            **heads,
            **labels,
        )
        model = t.RTDetrForObjectDetection(config)
        processor = t.RTDetrImageProcessor(size={"height": 64, "width": 64})
    path = root / architecture
    model.save_pretrained(path)
    processor.save_pretrained(path)
    return path
