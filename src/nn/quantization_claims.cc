#include "nn/quantization_claims.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "nn/linear.h"

namespace spindrift::nn {
namespace {

constexpr std::string_view kKey = "quantization_config", kGroups = "config_groups";
constexpr std::string_view kEveryLinear = "Linear";  // the class of all layers but the embedding
constexpr std::string_view kSeveral = "mixed-precision";

// quantization_config's name of a stored format; empty for plain weights, and for those of MLX,
// whose config has no such names.
std::string_view published_name(std::string_view format) {
  if (format == "nvfp4") return "nvfp4-pack-quantized";
  if (format == "fp8") return "float-quantized";
  return format == "int4" || format == "int8" ? "pack-quantized" : "";
}

bool fits(std::string_view stored, std::string_view format, std::optional<int64_t> bits) {
  if (published_name(stored) != format) return false;
  if (!bits || format != "pack-quantized") return true;
  return stored == (*bits == 4 ? "int4" : "int8");
}

// nullopt when one of them is not understood.
Result<std::optional<std::vector<NamePattern>>> patterns(const JsonObject& owner,
                                                         std::string_view key,
                                                         std::vector<std::string>& warnings) {
  SPINDRIFT_TRY(const auto texts, owner.find_strings(key));
  std::optional<std::vector<NamePattern>> parsed(std::in_place);
  for (const std::string& text : texts.value_or(std::vector<std::string>())) {
    auto pattern = NamePattern::parse(text);
    if (pattern.ok()) {
      if (parsed) parsed->push_back(std::move(pattern).value());
      continue;
    }
    parsed.reset();
    warnings.push_back(
        owner.error(ErrorCode::kUnsupported, key, "patterns that can be compared").message + " (" +
        pattern.error().message + "); the tensors are followed");
  }
  return parsed;
}

const NamePattern* first_match(const std::vector<NamePattern>& patterns, std::string_view name) {
  for (const NamePattern& pattern : patterns) {
    const bool by_class = pattern.text() == kEveryLinear && !name.ends_with("embed_tokens");
    if (by_class || pattern.matches(name)) return &pattern;
  }
  return nullptr;
}

// Layers that contradict the config in the same way.
struct Contradiction {
  std::string said, first, stored;
  int64_t count = 0;
};

}  // namespace

Result<QuantizationClaims> QuantizationClaims::read(const JsonObject& config,
                                                    std::vector<std::string>& warnings) {
  QuantizationClaims claims;
  claims.file_ = config.file();
  SPINDRIFT_TRY(const auto json, config.find_object(kKey));
  if (!json) return claims;
  SPINDRIFT_TRY(const auto common, json->find_string("format"));
  const auto declare = [&](const std::string& format) {
    auto& known = claims.formats_;
    if (!format.empty() && format != kSeveral &&
        std::find(known.begin(), known.end(), format) == known.end())
      known.push_back(format);
  };
  declare(common.value_or(""));
  SPINDRIFT_TRY(const auto groups, json->find_object(kGroups));
  bool understood = true;
  for (const std::string& key : groups ? groups->keys() : std::vector<std::string>()) {
    SPINDRIFT_TRY(const JsonObject group, groups->get_object(key));
    SPINDRIFT_TRY(const auto format, group.find_string("format"));
    SPINDRIFT_TRY(const auto weights, group.find_object("weights"));
    Group read{
        .key = key, .format = format.value_or(common.value_or("")), .bits = {}, .targets = {}};
    if (weights) {
      SPINDRIFT_TRY(read.bits, weights->find_int("num_bits"));
    }
    SPINDRIFT_TRY(auto targets, patterns(group, "targets", warnings));
    declare(read.format);
    understood = understood && targets && !targets->empty();
    if (targets) read.targets = std::move(*targets);
    claims.groups_.push_back(std::move(read));
  }
  SPINDRIFT_TRY(auto ignored, patterns(*json, "ignore", warnings));
  understood = understood && ignored && !claims.groups_.empty();
  if (ignored) claims.ignored_ = std::move(*ignored);
  claims.by_layer_ = understood;
  return claims;
}

Status QuantizationClaims::compare(std::span<const LinearLayer> layers, std::string_view root,
                                   std::vector<std::string>& warnings) const {
  if (!by_layer_) {
    compare_formats(layers, warnings);
    return ok_status();
  }
  std::vector<bool> matched(groups_.size(), false);
  std::map<std::string, Contradiction> contradictions;
  for (const LinearLayer& layer : layers) {
    std::string_view name = layer.scope.prefix;
    if (!root.empty() && name.starts_with(root)) name.remove_prefix(root.size() + 1);
    const Group* group = nullptr;
    const NamePattern* target = nullptr;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const NamePattern* match = first_match(groups_[i].targets, name);
      matched[i] = matched[i] || match;
      if (!match || group) continue;
      group = &groups_[i];
      target = match;
    }
    const NamePattern* ignore = first_match(ignored_, name);
    const std::string_view stored = stored_format(layer.scope, layer.in);
    const bool plain = published_name(stored).empty();
    if (!group || ignore ? plain : fits(stored, group->format, group->bits)) continue;
    std::string said;
    if (group && !ignore) {
      said = std::string(kGroups) + "." + group->key + "` (target `" + target->text() + "`) says " +
             group->format;
      if (group->bits) said += " of " + std::to_string(*group->bits) + " bits";
    } else {
      said = ignore ? "ignore` (`" + ignore->text() + "`) says plain" : "` has no group";
    }
    Contradiction& entry = contradictions[said + " " + std::string(stored)];
    if (entry.count++ == 0) entry = {said, std::string(name), std::string(stored), 1};
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (matched[i]) continue;
    std::string texts;
    for (const NamePattern& pattern : groups_[i].targets)
      texts.append(texts.empty() ? "`" : ", `").append(pattern.text()).append("`");
    return Error{ErrorCode::kInvalid,
                 file_ + ": key `" + std::string(kKey) + "." + std::string(kGroups) + "." +
                     groups_[i].key + ".targets`: expected a target that matches a layer, found " +
                     texts + ", which match none"};
  }
  for (const auto& [key, entry] : contradictions) {
    std::string text = file_ + ": `" + std::string(kKey) + ".";
    if (entry.said.front() == '`') text.pop_back();
    text += entry.said + " for `" + entry.first + "`, which is stored as " + entry.stored;
    if (entry.count > 1) text += " (so are " + std::to_string(entry.count - 1) + " more)";
    warnings.push_back(text + "; the tensors are followed");
  }
  return ok_status();
}

void QuantizationClaims::compare_formats(std::span<const LinearLayer> layers,
                                         std::vector<std::string>& warnings) const {
  std::set<std::string_view> found;
  for (const LinearLayer& layer : layers)
    found.insert(published_name(stored_format(layer.scope, layer.in)));
  for (const std::string& declared : formats_) {
    if (found.contains(declared)) continue;
    warnings.push_back(file_ + ": `quantization_config` declares " + declared +
                       ", but no tensor is stored so; the tensors are followed");
  }
  for (const std::string_view format : found) {
    if (format.empty() || std::find(formats_.begin(), formats_.end(), format) != formats_.end())
      continue;
    warnings.push_back(file_ + ": tensors are stored as " + std::string(format) +
                       ", which `quantization_config` does not declare; the tensors are followed");
  }
}

}  // namespace spindrift::nn
