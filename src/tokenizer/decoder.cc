#include "tokenizer/decoder.h"

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr int kMaxDepth = 16;

Status append(const ConfigNode& node, int depth, DecoderChain& chain) {
  if (depth > kMaxDepth)
    return Error{ErrorCode::kLimit, node.where.substr(0, 200) + ": nested too deeply"};
  ConfigReader reader(node);
  SPINDRIFT_TRY(const std::string type, reader.type());
  if (type == "Sequence") {
    SPINDRIFT_TRY(const ConfigNode* list, reader.array("decoders"));
    SPINDRIFT_TRY_STATUS(reader.finish());
    for (const ConfigNode& item : list->items) SPINDRIFT_TRY_STATUS(append(item, depth + 1, chain));
    return ok_status();
  }
  if (type == "ByteLevel") {
    // Settings of the pre-tokenizer of the same name; decoding has none.
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) reader.skip(key);
    SPINDRIFT_TRY_STATUS(reader.finish());
    chain.push_back(make_byte_level_decoder());
  } else if (type == "ByteFallback") {
    SPINDRIFT_TRY_STATUS(reader.finish());
    chain.push_back(make_byte_fallback_decoder());
  } else if (type == "Fuse") {
    SPINDRIFT_TRY_STATUS(reader.finish());
    chain.push_back(make_fuse_decoder());
  } else if (type == "Replace") {
    SPINDRIFT_TRY(auto stage, make_replace_decoder(node));
    chain.push_back(std::move(stage));
  } else if (type == "Strip") {
    SPINDRIFT_TRY(auto stage, make_strip_decoder(node));
    chain.push_back(std::move(stage));
  } else if (type == "Metaspace") {
    SPINDRIFT_TRY(auto stage, make_metaspace_decoder(node));
    chain.push_back(std::move(stage));
  } else {
    return Error{ErrorCode::kUnsupported, node.where + ": unknown decoder " + in_quotes(type)};
  }
  return ok_status();
}

}  // namespace

Result<DecoderChain> make_decoders(const ConfigNode* node) {
  DecoderChain chain;
  if (node == nullptr) {
    chain.push_back(make_join_decoder());
    return chain;
  }
  SPINDRIFT_TRY_STATUS(append(*node, 0, chain));
  if (chain.empty())
    chain.push_back(make_fuse_decoder());  // an empty Sequence joins tokens without a separator
  return chain;
}

std::vector<std::unique_ptr<DecodeSink>> open_decoders(const DecoderChain& chain,
                                                       DecodeSink& sink) {
  std::vector<std::unique_ptr<DecodeSink>> open;
  for (size_t i = chain.size(); i-- > 0;) {
    open.push_back(chain[i]->open(open.empty() ? sink : *open.back()));
  }
  return open;
}

}  // namespace spindrift
