#include "models/kv_sequence.h"

#include "core/check.h"

namespace spindrift {

KvSequence::KvSequence(std::span<const nn::KvShape> shapes) {
  SPINDRIFT_CHECK(!shapes.empty(), "a model has layers");
  caches_.reserve(shapes.size());
  for (const nn::KvShape& shape : shapes) caches_.emplace_back(shape);
}

Position KvSequence::committed() const { return caches_.front().committed(); }

void KvSequence::commit(std::span<const RowIndex> path) {
  for (nn::KvCache& cache : caches_) cache.commit(path);
}

Status KvSequence::truncate(Position n) {
  // All layers or none: the first pass changes nothing when one of them cannot go back.
  for (const nn::KvCache& cache : caches_) SPINDRIFT_TRY_STATUS(cache.can_truncate(n));
  for (nn::KvCache& cache : caches_) SPINDRIFT_TRY_STATUS(cache.truncate(n));
  return ok_status();
}

int64_t KvSequence::kv_bytes() const {
  int64_t bytes = 0;
  for (const nn::KvCache& cache : caches_) bytes += cache.bytes();
  return bytes;
}

std::vector<std::byte> KvSequence::state_bytes() const {
  std::vector<std::byte> state;
  for (const nn::KvCache& cache : caches_) cache.append_state(state);
  return state;
}

}  // namespace spindrift
