"""llama.cpp through its C functions, which the PyPI package `xllamacpp` exports.

Only what a comparison needs: load a GGUF, decode rows, read logits. Parameters are opaque blocks that llama.cpp fills
with its own defaults; the few fields set here are found by the defaults they must hold, and a version in which they do
not is refused rather than guessed at.
"""
import ctypes
import struct
import time
from pathlib import Path

import numpy as np

BLOCK = 1024  # bytes; more than any version's parameters. Copies passed by value may be longer than the callee reads.
TYPES = {"f32": 0, "bf16": 30, "q4_0": 2, "q8_0": 8, "nvfp4": 40}


class Opaque(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * BLOCK)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), ("token", ctypes.POINTER(ctypes.c_int32)), ("embd", ctypes.c_void_p),
                ("pos", ctypes.POINTER(ctypes.c_int32)), ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
                ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))), ("logits", ctypes.POINTER(ctypes.c_int8))]


def library():
    import xllamacpp.xllamacpp as extension  # the package's compiled module
    lib = ctypes.CDLL(extension.__file__)
    lib.llama_model_default_params.restype = Opaque
    lib.llama_context_default_params.restype = Opaque
    lib.llama_model_load_from_file.restype = ctypes.c_void_p
    lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Opaque]
    lib.llama_init_from_model.restype = ctypes.c_void_p
    lib.llama_init_from_model.argtypes = [ctypes.c_void_p, Opaque]
    lib.llama_batch_init.restype = Batch
    lib.llama_batch_init.argtypes = [ctypes.c_int32] * 3
    lib.llama_decode.argtypes = [ctypes.c_void_p, Batch]
    lib.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
    lib.llama_get_logits_ith.argtypes = [ctypes.c_void_p, ctypes.c_int32]
    lib.llama_get_memory.restype = ctypes.c_void_p
    lib.llama_get_memory.argtypes = [ctypes.c_void_p]
    lib.llama_memory_seq_rm.restype = ctypes.c_bool
    lib.llama_memory_seq_rm.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32]
    lib.llama_set_n_threads.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32]
    lib.ggml_quantize_chunk.restype = ctypes.c_size_t
    lib.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64,
                                        ctypes.c_int64, ctypes.c_void_p]
    lib.ggml_row_size.restype = ctypes.c_size_t
    lib.ggml_row_size.argtypes = [ctypes.c_int, ctypes.c_int64]
    return lib


def quantize(lib, values, kind):
    """Rows of float32 as the bytes of a ggml type, [rows, bytes of a row]."""
    values = np.ascontiguousarray(values, np.float32)
    rows, width = values.shape
    out = np.empty((rows, lib.ggml_row_size(TYPES[kind], width)), np.uint8)
    lib.ggml_quantize_chunk(TYPES[kind], values.ctypes.data, out.ctypes.data, 0, rows, width, None)
    return out


class Model:
    def __init__(self, path, threads, context, quiet=True):
        self.lib = lib = library()
        if quiet:
            self.silence = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
            lib.llama_log_set(self.silence, None)
        lib.llama_backend_init()
        self.model = lib.llama_model_load_from_file(str(Path(path)).encode(), lib.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp does not load {path}")
        parameters = lib.llama_context_default_params()
        head = struct.unpack_from("<4I", bytes(parameters.bytes))
        if head != (512, 2048, 512, 1):  # n_ctx, n_batch, n_ubatch, n_seq_max
            raise SystemExit(f"this llama.cpp keeps its context parameters elsewhere: {head}")
        struct.pack_into("<3I", parameters.bytes, 0, context, 2048, 512)
        self.context = lib.llama_init_from_model(self.model, parameters)
        lib.llama_set_n_threads(self.context, threads, threads)
        self.batch = lib.llama_batch_init(2048, 0, 1)

    def decode(self, ids, first):
        """One forward over `ids` at positions first, first + 1, ..., logits of every row. Seconds."""
        batch = self.batch
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, first + i, 1, 1
            batch.seq_id[i][0] = 0
        start = time.perf_counter()
        if self.lib.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama_decode failed")
        self.lib.llama_get_logits_ith(self.context, 0)  # waits for the result
        return time.perf_counter() - start

    def cut(self, position):
        """Forgets positions from `position` on."""
        if not self.lib.llama_memory_seq_rm(self.lib.llama_get_memory(self.context), 0, position, -1):
            raise SystemExit("llama.cpp cannot cut this cache")

    def logits(self, row, vocab):
        return np.ctypeslib.as_array(self.lib.llama_get_logits_ith(self.context, row), (vocab,)).copy()
