// Any bytes as the body of a request to the server, read as every endpoint would read them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "server/completion_request.h"

namespace {

using namespace spindrift;
using namespace spindrift::server;

constexpr std::string_view kTokenizer = R"({"added_tokens": [],
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
  "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})";

void check_common(const CommonFields& common) {
  SPINDRIFT_CHECK(common.choices >= 1 && common.choices <= 128, "choices are bounded");
  SPINDRIFT_CHECK(validate(common.sampling).ok(), "sampling that was read is valid");
  SPINDRIFT_CHECK(validate(common.stop, true).ok(), "stops that were read are valid");
}

template <class T>
void check_error(const T& read) {
  if (const auto* error = std::get_if<ApiError>(&read)) {
    SPINDRIFT_CHECK(error->status >= 400 && error->status < 500 && !error->message.empty(),
                    "a refusal is the client's and says why");
    SPINDRIFT_CHECK(error_json(*error).starts_with("{\"error\""), "an error is an object");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto tokenizer = Tokenizer::parse(kTokenizer, "tokenizer.json").value();
  static const GenerationDefaults defaults;
  const RequestContext context{.defaults = defaults, .vocab = 100, .draft_depth = 11};
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto chat = read_chat_fields(body, context);
  check_error(chat);
  if (const auto* fields = std::get_if<ChatFields>(&chat)) check_common(fields->common);
  const auto text = read_text_fields(body, context);
  check_error(text);
  if (const auto* fields = std::get_if<TextFields>(&text)) {
    check_common(fields->common);
    SPINDRIFT_CHECK(!fields->prompts.empty(), "there is a prompt");
  }
  check_error(read_tokenize_fields(body));
  check_error(read_detokenize_fields(body, *tokenizer));
  return 0;
}
