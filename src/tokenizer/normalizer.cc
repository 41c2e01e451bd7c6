#include "tokenizer/normalizer.h"

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxStages = 256;

Status append(const ConfigNode& node, int depth, NormalizerChain& chain) {
  if (depth > kMaxDepth || chain.size() > kMaxStages) {
    return Error{ErrorCode::kLimit,
                 node.where.substr(0, 200) + ": too many or too deeply nested normalizers"};
  }
  ConfigReader reader(node);
  SPINDRIFT_TRY(const std::string type, reader.type());
  if (type == "Replace") {
    SPINDRIFT_TRY(auto stage, make_replace_normalizer(node));
    chain.push_back(std::move(stage));
    return ok_status();
  }
  if (type == "Sequence") {
    SPINDRIFT_TRY(const ConfigNode* list, reader.array("normalizers"));
    SPINDRIFT_TRY_STATUS(reader.finish());
    for (const ConfigNode& item : list->items) SPINDRIFT_TRY_STATUS(append(item, depth + 1, chain));
    return ok_status();
  }
  if (type == "NFC") {
    chain.push_back(make_unicode_normalizer(UnicodeForm::kNfc));
  } else if (type == "NFD") {
    chain.push_back(make_unicode_normalizer(UnicodeForm::kNfd));
  } else if (type == "NFKC") {
    chain.push_back(make_unicode_normalizer(UnicodeForm::kNfkc));
  } else if (type == "NFKD") {
    chain.push_back(make_unicode_normalizer(UnicodeForm::kNfkd));
  } else if (type == "Lowercase") {
    chain.push_back(make_lowercase_normalizer());
  } else if (type == "StripAccents") {
    chain.push_back(make_strip_accents_normalizer());
  } else if (type == "ByteLevel") {
    chain.push_back(make_byte_level_normalizer());
  } else if (type == "Prepend") {
    SPINDRIFT_TRY(std::string prefix, reader.string("prepend"));
    chain.push_back(make_prepend_normalizer(std::move(prefix)));
  } else if (type == "Strip") {
    SPINDRIFT_TRY(const bool left, reader.boolean("strip_left"));
    SPINDRIFT_TRY(const bool right, reader.boolean("strip_right"));
    chain.push_back(make_strip_normalizer(left, right));
  } else {
    return Error{ErrorCode::kUnsupported, node.where + ": unknown normalizer " + in_quotes(type)};
  }
  return reader.finish();
}

}  // namespace

Result<NormalizerChain> make_normalizers(const ConfigNode* node) {
  NormalizerChain chain;
  if (node != nullptr) SPINDRIFT_TRY_STATUS(append(*node, 0, chain));
  return chain;
}

Status normalize(const NormalizerChain& chain, NormalizedText& text) {
  for (const auto& stage : chain) SPINDRIFT_TRY_STATUS(stage->apply(text));
  return ok_status();
}

}  // namespace spindrift
