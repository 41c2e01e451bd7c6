#include "engine/width_policy.h"

#include <algorithm>

#include "engine/auto_width.h"

namespace spindrift {
namespace {

class NoDraft final : public WidthPolicy {
 public:
  WidthChoice choose(const WidthQuery&) override { return {.nodes = 0, .why = "off"}; }
  void record(const RoundCost&) override {}
  std::string decision() const override { return "off: asked for"; }
};

// Always the same width; a last round drafts past the token limit as any other and is cut.
class FixedWidth final : public WidthPolicy {
 public:
  FixedWidth(const DraftWidth& asked, const DraftLimits& limits)
      : asked_(asked.tokens),
        depth_(std::min(asked.tokens, limits.depth)),
        nodes_(asked.nodes == 0 ? depth_ : std::min(asked.nodes, limits.nodes)) {}
  WidthChoice choose(const WidthQuery& q) override {
    const int nodes = std::min(nodes_, q.max_nodes);
    return {
        .nodes = nodes, .depth = depth_, .why = nodes < nodes_ ? "fixed, context ends" : "fixed"};
  }
  void record(const RoundCost&) override {}
  std::string decision() const override {
    std::string text = "fixed: " + std::to_string(nodes_) + " draft tokens a round";
    if (nodes_ > depth_) text += " at most, in a tree " + std::to_string(depth_) + " deep";
    text += ", as asked";
    if (depth_ < asked_) text += ", clamped to the drafter's maximum";
    return text;
  }

 private:
  int asked_, depth_, nodes_;
};

}  // namespace

std::unique_ptr<WidthPolicy> make_width_policy(const DraftWidth& width, const DraftLimits& limits,
                                               DraftExperience& experience) {
  if (limits.nodes == 0 || width.mode == DraftWidth::Mode::kOff) return std::make_unique<NoDraft>();
  if (width.mode == DraftWidth::Mode::kAuto) return std::make_unique<AutoWidth>(limits, experience);
  if (width.tokens == 0) return std::make_unique<NoDraft>();
  return std::make_unique<FixedWidth>(width, limits);
}

}  // namespace spindrift
