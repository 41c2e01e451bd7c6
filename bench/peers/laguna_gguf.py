"""Writes a Laguna folder of bf16 weights as GGUF, for llama.cpp: laguna_gguf.py FOLDER OUT [--experts TYPE].

For comparisons only. The tokenizer is left out; expert weights may be rounded to another ggml type on the way.
"""
import argparse
import json
from pathlib import Path

import gguf
import numpy as np

import llama_cpp

NAMES = {
    "self_attn.q_proj.weight": "attn_q.weight", "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight", "self_attn.o_proj.weight": "attn_output.weight",
    "self_attn.g_proj.weight": "attn_gate.weight", "self_attn.q_norm.weight": "attn_q_norm.weight",
    "self_attn.k_norm.weight": "attn_k_norm.weight", "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight", "mlp.gate.weight": "ffn_gate_inp.weight",
    "mlp.gate.e_score_correction_bias": "exp_probs_b.bias",
    "mlp.experts.e_score_correction_bias": "exp_probs_b.bias",
}
for part in ("gate", "up", "down"):
    NAMES[f"mlp.{part}_proj.weight"] = f"ffn_{part}.weight"
    NAMES[f"mlp.shared_expert.{part}_proj.weight"] = f"ffn_{part}_shexp.weight"


class Folder:
    """Tensors of every shard by name, as float32, read from the map on demand."""

    def __init__(self, path):
        self.tensors = {}
        for file in sorted(Path(path).glob("*.safetensors")):
            data = np.memmap(file, np.uint8, "r")
            size = int(data[:8].view("<u8")[0])
            for name, entry in json.loads(bytes(data[8:8 + size])).items():
                if name != "__metadata__":
                    begin, end = entry["data_offsets"]
                    self.tensors[name] = (entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + end])

    def read(self, name):
        dtype, shape, data = self.tensors[name]
        if dtype == "F32":
            return np.array(data).view("<f4").reshape(shape)
        assert dtype == "BF16", f"{name}: {dtype}"
        return (np.array(data).view("<u2").astype("<u4") << 16).view("<f4").reshape(shape)


def parameters(out, config):
    layers = config["num_hidden_layers"]
    rope = config["rope_parameters"]
    full, sliding = rope["full_attention"], rope["sliding_attention"]
    out.add_block_count(layers)
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads_per_layer"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_key_length(config["head_dim"])
    out.add_value_length(config["head_dim"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_expert_count(config["num_experts"])
    out.add_expert_used_count(config["num_experts_per_tok"])
    out.add_expert_feed_forward_length(config["moe_intermediate_size"])
    out.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])
    out.add_expert_shared_count(1)
    out.add_expert_weights_scale(config["moe_routed_scaling_factor"])
    out.add_expert_weights_norm(config["norm_topk_prob"])
    out.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    out.add_leading_dense_block_count(config["mlp_layer_types"].count("dense"))
    out.add_sliding_window(config["sliding_window"])
    out.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    out.add_rope_dimension_count(int(config["head_dim"] * full["partial_rotary_factor"]))
    out.add_uint32("laguna.rope.dimension_count_swa", int(config["head_dim"] * sliding["partial_rotary_factor"]))
    out.add_rope_freq_base(full["rope_theta"])
    out.add_float32("laguna.rope.freq_base_swa", sliding["rope_theta"])
    if full["rope_type"] == "yarn":
        out.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        out.add_rope_scaling_factor(full["factor"])
        out.add_rope_scaling_orig_ctx_len(full["original_max_position_embeddings"])
        out.add_rope_scaling_yarn_beta_fast(full["beta_fast"])
        out.add_rope_scaling_yarn_beta_slow(full["beta_slow"])
        out.add_rope_scaling_attn_factors(1.0)
    out.add_tokenizer_model("none")
    out.add_vocab_size(config["vocab_size"])


def write(folder, path, experts):
    config = json.loads(Path(folder, "config.json").read_text())
    source, lib = Folder(folder), llama_cpp.library()
    out = gguf.GGUFWriter(path, "laguna", use_temp_file=True)
    parameters(out, config)

    def add(name, values, kind):
        if values.ndim == 1 or kind == "f32":
            out.add_tensor(name, values.astype(np.float32))
            return
        shape = values.shape
        data = llama_cpp.quantize(lib, values.reshape(-1, shape[-1]), kind)
        out.add_tensor(name, data.reshape(*shape[:-1], -1), raw_dtype=gguf.GGMLQuantizationType(llama_cpp.TYPES[kind]))

    for name, theirs in (("model.embed_tokens.weight", "token_embd.weight"), ("lm_head.weight", "output.weight"),
                         ("model.norm.weight", "output_norm.weight")):
        add(theirs, source.read(name), "bf16")
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        for name in (n.removeprefix(prefix) for n in source.tensors if n.startswith(prefix)):
            if name in NAMES:
                add(f"blk.{layer}.{NAMES[name]}", source.read(prefix + name), "f32" if "mlp.gate." in name else "bf16")
            else:
                assert name.startswith("mlp.experts."), name
        if f"{prefix}mlp.experts.0.up_proj.weight" in source.tensors:
            for part in ("gate", "up", "down"):
                stack = np.stack([source.read(f"{prefix}mlp.experts.{e}.{part}_proj.weight")
                                  for e in range(config["num_experts"])])
                add(f"blk.{layer}.ffn_{part}_exps.weight", stack, experts)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--experts", default="bf16", choices=sorted(llama_cpp.TYPES))
    options = parser.parse_args()
    write(options.folder, options.out, options.experts)
