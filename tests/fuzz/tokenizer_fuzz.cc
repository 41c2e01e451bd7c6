// A tokenizer.json, a zero byte, and a text: the file is refused on one line or encodes the text to
// ids of its vocabulary; what those ids stream joins to what they decode to, in valid UTF-8.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace {

using spindrift::EncodeOptions;
using spindrift::TokenId;
using spindrift::Tokenizer;
using spindrift::TokenStream;

void check_error(const spindrift::Error& error) {
  SPINDRIFT_CHECK(error.message.find('\n') == std::string::npos, "an error is one line");
  SPINDRIFT_CHECK(error.message.size() < 2000, "an error is short");
}

void check_text(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  const auto ids = tokenizer.encode(text, options);
  if (!ids.ok()) {
    check_error(ids.error());
    return;
  }
  for (const TokenId id : ids.value())
    SPINDRIFT_CHECK(tokenizer.has(id), "an id of the vocabulary");
  for (const bool skip_special : {false, true}) {
    const std::string whole = tokenizer.decode(ids.value(), skip_special);
    SPINDRIFT_CHECK(spindrift::valid_utf8(whole), "decoded text is UTF-8");
    TokenStream stream(tokenizer, skip_special);
    std::string joined;
    for (const TokenId id : ids.value()) {
      const std::string piece = stream.push(id);
      SPINDRIFT_CHECK(spindrift::valid_utf8(piece), "a piece is UTF-8");
      joined += piece;
    }
    SPINDRIFT_CHECK(joined + stream.finish() == whole, "pieces join to the decoded text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view json = input.substr(0, input.find('\0'));
  const std::string_view text =
      json.size() < input.size() ? input.substr(json.size() + 1) : "it's <s> a\r\n\r\n12 \xe2\x82";
  const auto loaded = Tokenizer::parse(json, "fuzz");
  if (!loaded.ok()) {
    check_error(loaded.error());
    return 0;
  }
  check_text(*loaded.value(), text, {});
  check_text(*loaded.value(), text, {.add_special = true, .parse_special = false});
  return 0;
}
