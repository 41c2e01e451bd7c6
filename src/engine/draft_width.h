#pragma once

#include <cstdint>
#include <string_view>

namespace spindrift {

// The user's word on drafting.
struct DraftWidth {
  enum class Mode : uint8_t { kAuto, kFixed, kOff } mode = Mode::kAuto;
  // kFixed: the longest path drafted in a round, clamped to the drafter's maximum.
  int tokens = 0;
  // kFixed: draft tokens a round on all paths; 0 = as many as `tokens`, a chain.
  int nodes = 0;
};

// What a drafter can propose to one request in a round.
struct DraftLimits {
  int nodes = 0;  // 0 = there is no drafter
  int depth = 0;  // of the longest path
};

struct WidthChoice {
  int nodes = 0;         // draft tokens to ask for, 0 = a plain round
  int depth = 0;         // and the longest path of them
  std::string_view why;  // a fixed phrase, for traces
  double expected = 0;   // tokens per second of all requests against plain rounds; 0 = not known
};

}  // namespace spindrift
