#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/types.h"

namespace spindrift {

// Turns ids into text as they come. All pushes and finish() together give the decoding of all ids;
// a piece never ends inside a code point. The tokenizer's stream behind a face the engine owns.
class TextDecoder {
 public:
  virtual ~TextDecoder() = default;
  virtual std::string push(TokenId id) = 0;
  virtual std::string finish() = 0;
};

struct StopSpec {
  std::vector<TokenId> ids = {};        // end a run; produced, but no part of the text
  std::vector<std::string> texts = {};  // end a run where one first appears; neither it nor what
                                        // follows is part of the text
  bool ignore_eos = false;              // `ids` may be produced and do not stop
  std::optional<int64_t> max_new_tokens = {};  // none = until the context ends
};

// kUsage when a stop text is empty, or is given though no text is formed, or the limit is negative.
Status validate(const StopSpec& spec, bool has_text);

enum class StopReason : uint8_t { kNone, kStopId, kStopText, kLength };

// Decides token by token when a run ends and which text may be shown by then. Text that could still
// become a stop text is held back.
class StopRule {
 public:
  // `room`: tokens that may be produced, limit and context together. `decoder` may be null: no
  // text.
  StopRule(StopSpec spec, int64_t room, std::unique_ptr<TextDecoder> decoder);

  // Takes the next token. `piece` gets the text that is now certain (may be empty).
  StopReason push(TokenId id, std::string& piece);
  // The text still held back, when the run ends (by whichever reason). Empty after a stop text.
  std::string finish();
  int64_t tokens_left() const { return room_ - produced_; }
  // The stop text that ended the run, or empty.
  std::string_view matched() const { return matched_; }

 private:
  bool is_stop_id(TokenId id) const;
  // Moves certain text from held_ to piece; true when a stop text was found.
  bool release(std::string& piece);

  StopSpec spec_;
  int64_t room_;
  int64_t produced_ = 0;
  std::unique_ptr<TextDecoder> decoder_;
  std::string held_;
  std::string matched_;
};

}  // namespace spindrift
