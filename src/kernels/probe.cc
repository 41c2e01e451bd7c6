#include "kernels/probe.h"
//
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/probe.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

int64_t MultiplyAdds(int64_t steps) {
  const hn::CappedTag<float, 16> d;
  constexpr int kChains = 12;  // enough to hide the latency of two units
  hn::Vec<decltype(d)> sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  const auto factor = hn::Set(d, 0.5F);
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], factor, factor);
  }
  auto total = sums[0];
  for (int i = 1; i < kChains; ++i) total = hn::Add(total, sums[i]);
  volatile float sink = hn::GetLane(total);
  static_cast<void>(sink);
  return steps * kChains * 2 * static_cast<int64_t>(hn::Lanes(d));
}

uint32_t Read(std::span<const std::byte> bytes) {
  const hn::CappedTag<uint32_t, 16> d;
  const hn::Repartition<uint8_t, decltype(d)> d8;
  const size_t step = hn::Lanes(d8);
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto* end = p + bytes.size() / (8 * step) * (8 * step);
  hn::Vec<decltype(d)> sums[8];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (; p != end; p += 8 * step) {
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      sums[i] = hn::Xor(sums[i], hn::BitCast(d, hn::LoadU(d8, p + i * step)));
    }
  }
  for (size_t i = 1; i < 8; ++i) sums[0] = hn::Xor(sums[0], sums[i]);
  return hn::GetLane(sums[0]);
}

}  // namespace

void FillProbes(Probes& probes) { probes = {MultiplyAdds, Read}; }

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {
namespace {

void fill(Isa isa, Probes& probes) { SPINDRIFT_FILL(FillProbes, isa, probes); }

}  // namespace

Probes probes(Isa isa) {
  Probes result;
  fill(isa, result);
  return result;
}

}  // namespace spindrift::kernels
#endif
