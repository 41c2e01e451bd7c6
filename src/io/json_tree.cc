#include "io/json_tree.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>

#include "core/json_string.h"
#include "io/json_config.h"
#include "io/quote.h"

namespace spindrift {
namespace {

// Receives nlohmann's events and builds the tree. The parser itself keeps its nesting in a vector,
// so depth is bounded here and nowhere else.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(int64_t max_values) : max_values_(max_values) {}

  bool null() override { return add({}); }
  bool boolean(bool v) override { return add({v}); }
  bool number_integer(number_integer_t v) override { return add({int64_t{v}}); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v <= static_cast<uint64_t>(JsonObject::kMaxInt)) return add({static_cast<int64_t>(v)});
    return add({JsonFloat{static_cast<double>(v), std::to_string(v)}});
  }
  bool number_float(number_float_t v, const string_t& text) override {
    return add({JsonFloat{v, text}});
  }
  bool string(string_t& v) override { return add({std::move(v)}); }
  bool binary(binary_t&) override { return fail("binary data"); }
  bool start_object(std::size_t) override { return push({JsonMembers{}}); }
  bool start_array(std::size_t) override { return push({JsonArray{}}); }
  bool end_array() override { return pop(); }
  bool key(string_t& v) override {
    open_.back().key = std::move(v);
    return true;
  }
  bool end_object() override {
    auto& members = std::get<JsonMembers>(open_.back().node.value);
    const auto& items = members.items;
    members.by_key.resize(items.size());
    std::iota(members.by_key.begin(), members.by_key.end(), 0U);
    std::sort(members.by_key.begin(), members.by_key.end(),
              [&](uint32_t a, uint32_t b) { return items[a].first < items[b].first; });
    const auto twice = std::adjacent_find(
        members.by_key.begin(), members.by_key.end(),
        [&](uint32_t a, uint32_t b) { return items[a].first == items[b].first; });
    if (twice != members.by_key.end()) {
      open_.back().key = items[*twice].first;
      return fail("key " + quoted_for_message(path()) + ": expected each key once, found it twice");
    }
    return pop();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    std::string_view what = e.what();
    if (const size_t tag = what.find("] "); tag != std::string_view::npos)
      what.remove_prefix(tag + 2);
    return fail("expected JSON, found " + quoted_for_message(what, 300));
  }

  JsonNode root;
  std::string problem;

 private:
  struct Open {
    JsonNode node;
    std::string key;  // the member being read
  };

  bool fail(std::string what) {
    problem = std::move(what);
    return false;
  }

  // Keys from the top down to the member being read.
  std::string path() const {
    std::string out;
    for (const Open& level : open_) {
      if (const auto* array = std::get_if<JsonArray>(&level.node.value)) {
        out += '[' + std::to_string(array->items.size()) + ']';
      } else {
        if (!out.empty()) out += '.';
        out += level.key;
      }
    }
    return out;
  }

  bool count() {
    if (++values_ <= max_values_) return true;
    return fail("expected at most " + std::to_string(max_values_) + " values, found more");
  }

  bool add(JsonNode node) { return count() && attach(std::move(node)); }

  bool attach(JsonNode node) {
    if (open_.empty()) {
      root = std::move(node);
    } else if (auto* array = std::get_if<JsonArray>(&open_.back().node.value)) {
      array->items.push_back(std::move(node));
    } else {
      std::get<JsonMembers>(open_.back().node.value)
          .items.emplace_back(std::move(open_.back().key), std::move(node));
    }
    return true;
  }

  bool push(JsonNode node) {
    if (open_.size() >= static_cast<size_t>(JsonObject::kMaxDepth))
      return fail("expected at most " + std::to_string(JsonObject::kMaxDepth) +
                  " levels of nesting, found more");
    open_.push_back({std::move(node), {}});
    return count();
  }

  bool pop() {
    JsonNode done = std::move(open_.back().node);
    open_.pop_back();
    return attach(std::move(done));
  }

  std::vector<Open> open_;
  int64_t max_values_;
  int64_t values_ = 0;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto* members = std::get_if<JsonMembers>(&value);
  if (members == nullptr) return nullptr;
  const auto at =
      std::lower_bound(members->by_key.begin(), members->by_key.end(), key,
                       [&](uint32_t i, std::string_view k) { return members->items[i].first < k; });
  if (at == members->by_key.end() || members->items[*at].first != key) return nullptr;
  return &members->items[*at].second;
}

Result<JsonNode> parse_json_tree(std::string_view text, const std::string& file_name,
                                 int64_t max_values) {
  // The parser takes a zero byte for the end of the text, and would pass over what follows.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    return Error{ErrorCode::kInvalid, file_name + ": expected JSON, found a zero byte at offset " +
                                          std::to_string(zero)};
  TreeBuilder builder(max_values);
  bool parsed = false;
  try {
    parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& e) {
    builder.problem = "expected JSON, found " + quoted_for_message(e.what(), 300);
  }
  if (!parsed) return Error{ErrorCode::kInvalid, file_name + ": " + builder.problem};
  return std::move(builder.root);
}

void append_json(const JsonNode& node, size_t max_bytes, std::string& out) {
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          out += "null";
        } else if constexpr (std::is_same_v<T, bool>) {
          out += v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, int64_t>) {
          out += std::to_string(v);
        } else if constexpr (std::is_same_v<T, JsonFloat>) {
          out += v.text;
        } else if constexpr (std::is_same_v<T, std::string>) {
          append_json_string(std::string_view(v).substr(0, max_bytes), out);
        } else if constexpr (std::is_same_v<T, JsonArray>) {
          out += '[';
          for (size_t i = 0; i < v.items.size() && out.size() < max_bytes; ++i) {
            if (i > 0) out += ',';
            append_json(v.items[i], max_bytes, out);
          }
          out += ']';
        } else {
          out += '{';
          for (size_t i = 0; i < v.items.size() && out.size() < max_bytes; ++i) {
            if (i > 0) out += ',';
            append_json_string(v.items[i].first, out);
            out += ':';
            append_json(v.items[i].second, max_bytes, out);
          }
          out += '}';
        }
      },
      node.value);
}

}  // namespace spindrift
