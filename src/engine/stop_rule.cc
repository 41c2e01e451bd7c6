#include "engine/stop_rule.h"

#include <algorithm>
#include <utility>

namespace spindrift {
namespace {

// Length of the longest suffix of `text` that is a proper prefix of `stop`.
size_t overlap(std::string_view text, std::string_view stop) {
  for (size_t n = std::min(text.size(), stop.size() - 1); n > 0; --n)
    if (text.ends_with(stop.substr(0, n))) return n;
  return 0;
}

}  // namespace

Status validate(const StopSpec& spec, bool has_text) {
  for (const std::string& text : spec.texts)
    if (text.empty())
      return Error{ErrorCode::kUsage, "stop text: expected at least one byte, found \"\""};
  if (!spec.texts.empty() && !has_text)
    return Error{ErrorCode::kUsage, "stop text: the model has no tokenizer, so no text is formed"};
  if (spec.max_new_tokens && *spec.max_new_tokens < 0)
    return Error{ErrorCode::kUsage, "max new tokens: expected a whole number >= 0, found " +
                                        std::to_string(*spec.max_new_tokens)};
  return ok_status();
}

StopRule::StopRule(StopSpec spec, int64_t room, std::unique_ptr<TextDecoder> decoder)
    : spec_(std::move(spec)), room_(room), decoder_(std::move(decoder)) {}

bool StopRule::is_stop_id(TokenId id) const {
  return !spec_.ignore_eos && std::find(spec_.ids.begin(), spec_.ids.end(), id) != spec_.ids.end();
}

StopReason StopRule::push(TokenId id, std::string& piece) {
  piece.clear();
  ++produced_;
  if (is_stop_id(id)) return StopReason::kStopId;
  if (decoder_ != nullptr) {
    held_ += decoder_->push(id);
    if (release(piece)) return StopReason::kStopText;
  }
  return produced_ >= room_ ? StopReason::kLength : StopReason::kNone;
}

bool StopRule::release(std::string& piece) {
  size_t first = std::string::npos;
  size_t keep = 0;
  for (const std::string& stop : spec_.texts) {
    if (const size_t at = held_.find(stop); at < first) {
      first = at;
      matched_ = stop;
    }
    keep = std::max(keep, overlap(held_, stop));
  }
  if (first != std::string::npos) {
    piece = held_.substr(0, first);
    held_.clear();
    return true;
  }
  piece = held_.substr(0, held_.size() - keep);
  held_.erase(0, piece.size());
  return false;
}

std::string StopRule::finish() {
  if (decoder_ == nullptr || !matched_.empty()) return {};
  return std::exchange(held_, {}) + decoder_->finish();
}

}  // namespace spindrift
