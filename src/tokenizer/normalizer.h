#pragma once

#include <memory>
#include <string>
#include <string_view>
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

// The stages.
enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };
// Linear in the text, but for the sorting of combining marks (n log n). Code points that are newer
// than the tables of the `tokenizers` package stay as they are, there and here.
std::unique_ptr<Normalizer> make_unicode_normalizer(UnicodeForm form);
std::unique_ptr<Normalizer> make_lowercase_normalizer();
std::unique_ptr<Normalizer> make_strip_accents_normalizer();
std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right);
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string prefix);
std::unique_ptr<Normalizer> make_byte_level_normalizer();
Result<std::unique_ptr<Normalizer>> make_replace_normalizer(const ConfigNode& node);

}  // namespace spindrift
