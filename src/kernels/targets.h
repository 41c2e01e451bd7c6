#pragma once

// Include before any Highway header: the instruction sets that kernels are compiled for. SSE4, AVX2
// and AVX-512 on x86, NEON on Arm. SSSE3 has no machine that SSE4 lacks, and the scalable sets
// cannot hold sixteen lanes in a fixed number of registers.
#define HWY_DISABLED_TARGETS                                                             \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | \
   HWY_WASM | HWY_WASM_EMU256)

// True while a vector target is compiled. Highway's own fallback is skipped: the twins are it.
#define SPINDRIFT_VECTOR_TARGET (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)
