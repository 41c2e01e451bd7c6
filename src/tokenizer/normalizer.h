#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "tokenizer/config_node.h"

namespace spindrift {

// A text on its way to the pre-tokenizer.
struct NormalizedText {
  std::string text;       // valid UTF-8
  bool at_origin = true;  // its first character stands for byte 0 of what was to be encoded
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual Status apply(NormalizedText& text) const = 0;
};

using NormalizerChain = std::vector<std::unique_ptr<Normalizer>>;

// From the value of "normalizer" (null: an empty chain). Unknown types and keys are refused.
Result<NormalizerChain> make_normalizers(const ConfigNode* node);
Status normalize(const NormalizerChain& chain, NormalizedText& text);

}  // namespace spindrift
