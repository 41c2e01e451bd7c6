#include "tokenizer/normalizer.h"

namespace spindrift {

Result<NormalizerChain> make_normalizers(const ConfigNode* node) {
  NormalizerChain chain;
  if (node == nullptr) return chain;
  ConfigReader reader(*node);
  SPINDRIFT_TRY(const std::string type, reader.type());
  return Error{ErrorCode::kUnsupported,
               node->where + ": unknown normalizer \"" + type.substr(0, 80) + "\""};
}

Status normalize(const NormalizerChain& chain, NormalizedText& text) {
  for (const auto& stage : chain) SPINDRIFT_TRY_STATUS(stage->apply(text));
  return ok_status();
}

}  // namespace spindrift
