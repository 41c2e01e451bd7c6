#include "models/decoder_parts.h"

#include <vector>

#include "core/check.h"
#include "models/kv_sequence.h"
#include "nn/attention.h"

namespace spindrift {
namespace {

struct Scratch final : WorkspaceItem {
  std::vector<nn::AttentionPart> parts;
};

}  // namespace

void embed_rows(const nn::Linear& table, std::span<const TokenId> ids, Rows out) {
  for (size_t i = 0; i < ids.size(); ++i) {
    SPINDRIFT_CHECK(ids[i] >= 0 && ids[i] < table.out(), "token ids lie in the vocabulary");
    table.read_row(ids[i], out.row(static_cast<int64_t>(i)));
  }
}

void attend(const AttentionLayer& layer, const BatchLayout& batch, ConstRows q, ConstRows k,
            ConstRows v, Rows out, Workspace& ws, const Exec& ex) {
  std::vector<nn::AttentionPart>& parts = ws.item<Scratch>().parts;
  parts.clear();
  for (const BatchLayout::Part& part : batch.parts()) {
    nn::KvCache& cache = static_cast<KvSequence&>(*part.seq).cache(layer.layer);
    cache.stage(part.of(k), part.of(v));
    parts.push_back({&cache, &part.paths, part.of(q), part.of(out)});
  }
  nn::attention(parts, layer.heads, layer.scale, layer.sinks, ex);
}

}  // namespace spindrift
