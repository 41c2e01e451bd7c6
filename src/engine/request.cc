#include "engine/request.h"

#include <algorithm>
#include <cmath>

namespace spindrift {
namespace {

template <class T>
std::string json_list(std::span<const T> values) {
  std::string out = "[";
  for (const T value : values) {
    if (out.size() > 1) out += ',';
    out += std::to_string(value);
  }
  return out + ']';
}

// Seconds with six decimals.
std::string json_seconds(double seconds) {
  const auto micros = static_cast<int64_t>(std::llround(std::max(seconds, 0.0) * 1e6));
  const std::string fraction = std::to_string(micros % 1000000);
  return std::to_string(micros / 1000000) + '.' + std::string(6 - fraction.size(), '0') + fraction;
}

std::string json_hundredths(double value) {
  const auto hundredths = static_cast<int64_t>(std::llround(std::max(value, 0.0) * 100));
  const std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + '.' + std::string(2 - fraction.size(), '0') + fraction;
}

bool is_chain(std::span<const RowIndex> parents) {
  for (size_t i = 0; i < parents.size(); ++i)
    if (parents[i] != static_cast<RowIndex>(i) - 1) return false;
  return true;
}

}  // namespace

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kInterrupted:
      return "interrupted";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

std::string to_json(const RoundRecord& r) {
  std::string out = "{\"round\":" + std::to_string(r.round);
  out += ",\"position\":" + std::to_string(r.position) + ",\"bonus\":" + std::to_string(r.bonus);
  out += ",\"draft\":" + json_list(r.draft);
  if (!is_chain(r.parents)) out += ",\"parents\":" + json_list(r.parents);
  out +=
      ",\"accepted\":" + std::to_string(r.accepted) + ",\"emitted\":" + std::to_string(r.emitted);
  out += ",\"draft_s\":" + json_seconds(r.draft_s) + ",\"verify_s\":" + json_seconds(r.verify_s);
  out += ",\"width\":" + std::to_string(r.draft.size());
  if (r.expected > 0) out += ",\"expected_gain\":" + json_hundredths(r.expected);
  out += ",\"why\":\"" + std::string(r.why) + "\"}";
  return out;
}

}  // namespace spindrift
