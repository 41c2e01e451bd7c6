#!/usr/bin/env python3
"""Writes tests/golden/formats/model.safetensors: small layers in every quantised format and the weights they stand for.

usage: make_format_vectors.py [--check]

The bytes are those that compressed-tensors' compressors and MLX's quantize write. Beside the tensors of each layer lies
`expected` [out, in]: the float32 weights, computed here from the formats' definitions, each rounded once. --check
writes nothing: it compares the stored weights with the definitions again and with what the two libraries themselves
make of the stored tensors, after rounding to the type that they return.
"""
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from compressed_tensors.compressors.naive_quantized import FloatQuantizationCompressor
from compressed_tensors.compressors.nvfp4 import NVFP4PackedCompressor
from compressed_tensors.compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import load_file, save_file

FILE = Path(__file__).resolve().parent.parent / "tests" / "golden" / "formats" / "model.safetensors"
MLX_TYPES = {"bf16": mx.bfloat16, "f16": mx.float16, "f32": mx.float32}
COMPRESSORS = {"fp8": FloatQuantizationCompressor, "int4": PackedQuantizationCompressor,
               "int8": PackedQuantizationCompressor, "nvfp4": NVFP4PackedCompressor}
MAGNITUDES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])

# name: (format, out, in, what tells its variants apart)
COMPRESSED = {
    "nvfp4": ("nvfp4", 5, 64, {}),
    "fp8_blocks": ("fp8", 130, 140, {"strategy": "block", "scale": "bf16"}),
    "fp8_blocks_f32": ("fp8", 3, 40, {"strategy": "block", "scale": "f32"}),
    "fp8_rows": ("fp8", 3, 40, {"strategy": "channel", "scale": "bf16"}),
    "fp8_tensor": ("fp8", 3, 40, {"strategy": "tensor", "scale": "f32"}),
    "int4_g128": ("int4", 3, 256, {"group": 128, "scale": "bf16"}),
    "int4_g32": ("int4", 3, 64, {"group": 32, "scale": "f16"}),
    "int4_rows": ("int4", 3, 37, {"group": 0, "scale": "bf16"}),
    "int8_g128": ("int8", 3, 256, {"group": 128, "scale": "bf16"}),
    "int8_g64": ("int8", 3, 128, {"group": 64, "scale": "f32"}),
    "int8_rows": ("int8", 3, 37, {"group": 0, "scale": "bf16"}),
}
TORCH_TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


def args_of(kind, how):
    if kind == "nvfp4":
        return QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True,
                                scale_dtype=torch.float8_e4m3fn)
    if kind == "fp8":
        block = {"block_structure": [128, 128]} if how["strategy"] == "block" else {}
        return QuantizationArgs(num_bits=8, type="float", strategy=how["strategy"], symmetric=True, **block)
    groups = {"strategy": "group", "group_size": how["group"]} if how["group"] else {"strategy": "channel"}
    return QuantizationArgs(num_bits=int(kind[3:]), type="int", symmetric=True, **groups)


def scheme_of(kind, how):
    return QuantizationScheme(targets=["Linear"], weights=args_of(kind, how))


def spread(scales, shape, rows, columns):
    """A scale for each weight."""
    full = np.repeat(np.repeat(scales, rows, 0), columns, 1)
    return full[: shape[0], : shape[1]]


def compress(weight, kind, how):
    """The tensors of a layer as compressed-tensors stores them."""
    out, columns = weight.shape
    if kind == "nvfp4":
        top = np.float32(448.0 * 6.0) / weight.abs().max()
        blocks = weight.view(out, -1, 16).abs().amax(-1)
        scale = (blocks / 6.0 * top).clamp(max=448.0).to(torch.float8_e4m3fn).float()
        parts = NVFP4PackedCompressor.compress(
            {"weight": weight, "weight_scale": scale, "weight_global_scale": top.reshape(1)}, scheme_of(kind, how))
        return {k: parts[k] for k in ("weight_packed", "weight_scale", "weight_global_scale")}
    if kind == "fp8":
        rows, width = {"block": (128, 128), "channel": (1, columns), "tensor": (out, columns)}[how["strategy"]]
        grid = [[weight[r : r + rows, c : c + width].abs().max() / 448.0 for c in range(0, columns, width)]
                for r in range(0, out, rows)]
        scale = torch.tensor(grid).to(TORCH_TYPES[how["scale"]])
        scale = scale.reshape(1) if how["strategy"] == "tensor" else scale
        return FloatQuantizationCompressor.compress({"weight": weight, "weight_scale": scale}, scheme_of(kind, how))
    group = how["group"] or columns
    top = 7.5 if kind == "int4" else 127.5
    scale = (weight.view(out, -1, group).abs().amax(-1) / top).to(TORCH_TYPES[how["scale"]])
    parts = PackedQuantizationCompressor.compress({"weight": weight, "weight_scale": scale.float()},
                                                  scheme_of(kind, how))
    return {"weight_packed": parts["weight_packed"], "weight_scale": scale,
            "weight_shape": torch.tensor([out, columns], dtype=torch.int64)}


def codes_of(words, bits, columns):
    """Unsigned codes out of 32-bit words, lowest bits first."""
    words = words.astype(np.int64) & 0xFFFFFFFF
    shifts = np.arange(0, 32, bits)
    return ((words[..., None] >> shifts) & (2**bits - 1)).reshape(words.shape[0], -1)[:, :columns]


def e2m1(codes):
    return np.where(codes >= 8, -1.0, 1.0) * MAGNITUDES[codes & 7]


def read(parts, kind):
    """The weights of a stored layer by the definition of its format, in float32."""
    wide = np.longdouble
    if kind == "fp8":
        weight, scale = parts["weight"].double().numpy(), parts["weight_scale"].double().numpy()
        if scale.shape == (1,):
            scale = np.broadcast_to(scale, weight.shape)
        elif scale.shape == (weight.shape[0], 1) and weight.shape[0] > 1:
            scale = spread(scale, weight.shape, 1, weight.shape[1])
        else:
            scale = spread(scale, weight.shape, 128, 128)
        return (weight * scale).astype(np.float32)
    if kind == "nvfp4":
        packed = parts["weight_packed"].numpy()
        codes = np.stack([packed & 15, packed >> 4], -1).reshape(packed.shape[0], -1)
        scale = spread(parts["weight_scale"].double().numpy(), codes.shape, 1, 16)
        return (e2m1(codes) * scale / parts["weight_global_scale"].double().numpy()).astype(np.float32)
    if kind in ("int4", "int8"):
        bits = int(kind[3:])
        out, columns = parts["weight_shape"].tolist()
        codes = codes_of(parts["weight_packed"].numpy(), bits, columns) - 2 ** (bits - 1)
        scale = parts["weight_scale"].double().numpy()
        return (codes * spread(scale, (out, columns), 1, columns // scale.shape[1])).astype(np.float32)
    words, scale = parts["weight"].numpy().astype(np.int64), parts["scales"]
    if kind == "mlx_nvfp4":
        codes = codes_of(words, 4, words.shape[1] * 8)
        scale = scale.view(torch.float8_e4m3fn).double().numpy()
        return (e2m1(codes) * spread(scale, codes.shape, 1, 16)).astype(np.float32)
    bits = int(kind[6:])
    codes = codes_of(words, bits, words.shape[1] * 32 // bits)
    group = codes.shape[1] // scale.shape[1]
    scale, bias = (spread(parts[k].double().numpy().astype(wide), codes.shape, 1, group) for k in ("scales", "biases"))
    return (codes.astype(wide) * scale + bias).astype(np.float32)


def to_torch(array):
    """An MLX array of any type as a torch tensor of the same type."""
    if array.dtype == mx.bfloat16:
        return torch.from_numpy(np.array(array.view(mx.uint16)).astype(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def to_mlx(tensor):
    if tensor.dtype == torch.bfloat16:
        return mx.array(tensor.view(torch.int16).numpy().astype(np.uint16)).view(mx.bfloat16)
    return mx.array(tensor.numpy())


def affine_layers():
    return {f"affine{bits}_g{group}_{name}": (bits, group, name)
            for bits in (4, 8) for group, name in ((32, "bf16"), (64, "bf16"), (128, "bf16"), (64, "f16"), (64, "f32"))}


def layers():
    """The tensors of every layer, without `expected`."""
    random = np.random.default_rng(20240917)

    def weight(out, columns):
        return random.normal(0.0, 0.05, (out, columns)).astype(np.float32)

    for name, (kind, out, columns, how) in COMPRESSED.items():
        yield name, kind, compress(torch.from_numpy(weight(out, columns)), kind, how)
    for name, (bits, group, scale) in affine_layers().items():
        parts = mx.quantize(mx.array(weight(3, 256)).astype(MLX_TYPES[scale]), group, bits)
        yield name, f"affine{bits}", dict(zip(("weight", "scales", "biases"), map(to_torch, parts)))
    parts = mx.quantize(mx.array(weight(5, 64)), 16, 4, mode="nvfp4")
    yield "mlx_nvfp4", "mlx_nvfp4", dict(zip(("weight", "scales"), map(to_torch, parts)))


def expect(condition, what):
    if not condition:
        sys.exit(f"{FILE.name}: {what}")


def compare_with_library(name, kind, parts, expected):
    if kind in COMPRESSORS:
        how = COMPRESSED[name][3]
        back = COMPRESSORS[kind].decompress(dict(parts), scheme_of(kind, how))["weight"]
        if kind == "nvfp4":  # divides the scales first, in bfloat16: two roundings
            worst = ((torch.from_numpy(expected) - back.float()).abs() / back.float().abs().clamp(min=1e-9)).max()
            expect(worst <= 2.0**-7, f"{name}: off by {worst} from compressed-tensors")
        else:
            expect(torch.equal(torch.from_numpy(expected).to(back.dtype), back), f"{name}: not compressed-tensors'")
        return
    if kind == "mlx_nvfp4":
        back = mx.dequantize(to_mlx(parts["weight"]), to_mlx(parts["scales"]), None, 16, 4, mode="nvfp4")
        back = np.array(back.astype(mx.float32))
        expect(np.array_equal(back, expected), f"{name}: not MLX's")
        return
    bits, group, scale = affine_layers()[name]
    wide = [to_mlx(parts[k]).astype(mx.float32) for k in ("scales", "biases")]
    back = np.array(mx.dequantize(to_mlx(parts["weight"]), *wide, group, bits))
    if scale == "f32":  # MLX rounds the product, too
        expect(np.allclose(back, expected, rtol=2.0**-22, atol=2.0**-26), f"{name}: far from MLX's")
    else:
        expect(np.array_equal(back, expected), f"{name}: not MLX's")


def stored_layers():
    kinds = {name: kind for name, (kind, *_) in COMPRESSED.items()}
    kinds |= {name: f"affine{bits}" for name, (bits, *_) in affine_layers().items()} | {"mlx_nvfp4": "mlx_nvfp4"}
    tensors = load_file(FILE)
    for name, kind in kinds.items():
        yield name, kind, {k.removeprefix(name + "."): v for k, v in tensors.items() if k.startswith(name + ".")}


def main():
    if sys.argv[1:] == ["--check"]:
        count = 0
        for name, kind, parts in stored_layers():
            expected = parts.pop("expected").numpy()
            expect(read(parts, kind).tobytes() == expected.tobytes(), f"{name}: not what its format defines")
            compare_with_library(name, kind, parts, expected)
            count += 1
        print(f"{count} layers agree with compressed-tensors and MLX")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    tensors = {}
    for name, kind, parts in layers():
        tensors |= {f"{name}.{leaf}": tensor.contiguous() for leaf, tensor in parts.items()}
        tensors[f"{name}.expected"] = torch.from_numpy(read(parts, kind))
    FILE.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, FILE)


if __name__ == "__main__":
    main()
