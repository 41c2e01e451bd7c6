// SPINDRIFT_FILL(function, isa, table) calls the `function(Table&)` that was compiled for `isa`.
// For use in the HWY_ONCE part of a vector source file, in namespace spindrift::kernels.
#pragma once

#include <hwy/highway.h>

#include "core/check.h"
#include "kernels/contract.h"

#if HWY_TARGETS & HWY_AVX3
#define SPINDRIFT_FILL_AVX512(function, isa, table) \
  if ((isa) == ::spindrift::kernels::Isa::kAvx512) return N_AVX3::function(table);
#else
#define SPINDRIFT_FILL_AVX512(function, isa, table)
#endif

#if HWY_TARGETS & HWY_AVX2
#define SPINDRIFT_FILL_AVX2(function, isa, table) \
  if ((isa) == ::spindrift::kernels::Isa::kAvx2) return N_AVX2::function(table);
#else
#define SPINDRIFT_FILL_AVX2(function, isa, table)
#endif

#if HWY_TARGETS & HWY_SSE4
#define SPINDRIFT_FILL_SSE4(function, isa, table) \
  if ((isa) == ::spindrift::kernels::Isa::kSse4) return N_SSE4::function(table);
#else
#define SPINDRIFT_FILL_SSE4(function, isa, table)
#endif

#if HWY_TARGETS & HWY_NEON
#define SPINDRIFT_FILL_NATIVE(function, isa, table) \
  if ((isa) == ::spindrift::kernels::Isa::kNative) return N_NEON::function(table);
#else
#define SPINDRIFT_FILL_NATIVE(function, isa, table)
#endif

#define SPINDRIFT_FILL(function, isa, table)  \
  SPINDRIFT_FILL_AVX512(function, isa, table) \
  SPINDRIFT_FILL_AVX2(function, isa, table)   \
  SPINDRIFT_FILL_SSE4(function, isa, table)   \
  SPINDRIFT_FILL_NATIVE(function, isa, table) \
  SPINDRIFT_CHECK(false, "kernels were not compiled for this instruction set")
