#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "tokenizer/char_class.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr size_t kMaxContentBytes =
    1024;  // keeps the search linear; published tokens stay below 100

bool is_word_at(std::string_view text, size_t pos) {
  return CharClasses::get().is(code_point_at(text, pos).value, kWord);
}
bool is_word_before(std::string_view text, size_t end) {
  return CharClasses::get().is(code_point_before(text, end).value, kWord);
}

size_t skip_spaces_back(std::string_view text, size_t begin, size_t stop) {
  while (begin > stop) {
    const CodePoint c = code_point_before(text, begin);
    if (!CharClasses::get().is(c.value, kSpace)) break;
    begin -= c.bytes;
  }
  return begin;
}

size_t skip_spaces(std::string_view text, size_t pos) {
  while (pos < text.size()) {
    const CodePoint c = code_point_at(text, pos);
    if (!CharClasses::get().is(c.value, kSpace)) break;
    pos += c.bytes;
  }
  return pos;
}

Result<std::pair<AddedToken, int64_t>> read_token(const ConfigNode& node) {
  ConfigReader reader(node);
  AddedToken token;
  SPINDRIFT_TRY(const int64_t id, reader.integer("id", 0, INT32_MAX));
  SPINDRIFT_TRY(token.content, reader.string("content"));
  SPINDRIFT_TRY(token.single_word, reader.boolean("single_word"));
  SPINDRIFT_TRY(token.lstrip, reader.boolean("lstrip"));
  SPINDRIFT_TRY(token.rstrip, reader.boolean("rstrip"));
  SPINDRIFT_TRY(token.normalized, reader.boolean("normalized"));
  SPINDRIFT_TRY(token.special, reader.boolean("special"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  if (token.content.size() > kMaxContentBytes) {
    return Error{ErrorCode::kLimit, node.where + ".content: expected at most " +
                                        std::to_string(kMaxContentBytes) + " bytes, found " +
                                        std::to_string(token.content.size())};
  }
  return std::pair(std::move(token), id);
}

}  // namespace

bool AddedTokens::Trie::insert(std::string_view pattern, TokenId id) {
  uint32_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    uint32_t& first = at == 0 ? roots[static_cast<unsigned char>(pattern[i])] : nodes[at].child;
    uint32_t next = first;
    while (next != 0 && nodes[next].byte != pattern[i]) next = nodes[next].sibling;
    if (next == 0) {
      next = static_cast<uint32_t>(nodes.size());
      const uint32_t sibling = at == 0 ? 0 : first;
      first = next;
      nodes.push_back({0, sibling, kNoToken, pattern[i]});
    }
    at = next;
  }
  if (nodes[at].id != kNoToken) return false;
  nodes[at].id = id;
  return true;
}

std::pair<size_t, TokenId> AddedTokens::Trie::longest(std::string_view text, size_t pos) const {
  std::pair<size_t, TokenId> best{pos, kNoToken};
  uint32_t at = roots[static_cast<unsigned char>(text[pos])];
  while (at != 0) {
    ++pos;
    if (nodes[at].id != kNoToken) best = {pos, nodes[at].id};
    if (pos == text.size()) break;
    at = nodes[at].child;
    while (at != 0 && nodes[at].byte != text[pos]) at = nodes[at].sibling;
  }
  return best;
}

Result<AddedTokens> AddedTokens::build(const ConfigNode* node, const Vocabulary& vocabulary,
                                       const NormalizerChain& normalizers) {
  AddedTokens out;
  if (node == nullptr) return out;
  if (node->kind != ConfigNode::Kind::kArray) return node->unexpected("an array");
  auto next_id = static_cast<TokenId>(vocabulary.count());
  for (const ConfigNode& item : node->items) {
    SPINDRIFT_TRY(auto read, read_token(item));
    auto& [token, file_id] = read;
    if (token.content.empty()) continue;
    TokenId id = out.id_of(token.content);
    if (id == kNoToken) id = vocabulary.find(token.content);
    if (id == kNoToken) id = next_id++;
    if (id != file_id) {
      return Error{ErrorCode::kInvalid, item.where + ".id: expected " + std::to_string(id) +
                                            " for " + in_quotes(token.content) + ", found " +
                                            std::to_string(file_id)};
    }
    token.pattern = token.content;
    if (token.normalized) {
      NormalizedText text{token.content, true};
      SPINDRIFT_TRY_STATUS(normalize(normalizers, text));
      token.pattern = std::move(text.text);
      if (token.pattern.empty()) {
        return Error{
            ErrorCode::kInvalid,
            item.where + ".content: expected a token that normalisation leaves, found none left"};
      }
    }
    out.by_content_[token.content] = id;
    if (token.special) out.special_[token.content] = true;
    out.end_ = std::max(out.end_, id + 1);
    out.by_id_[id] = std::move(token);
  }
  for (const auto& [id, token] : out.by_id_) {
    if (!(token.normalized ? out.normalized_ : out.plain_).insert(token.pattern, id)) {
      return Error{ErrorCode::kInvalid, node->where + ": expected distinct tokens, found " +
                                            in_quotes(token.content) +
                                            " twice after normalisation"};
    }
  }
  return out;
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &it->second;
}

TokenId AddedTokens::id_of(std::string_view content) const {
  const auto it = by_content_.find(std::string(content));
  return it == by_content_.end() ? kNoToken : it->second;
}

bool AddedTokens::is_special(std::string_view spelling) const {
  return special_.contains(std::string(spelling));
}

void AddedTokens::cut(std::string_view text, bool normalized, std::vector<Stretch>& out) const {
  const Trie& trie = normalized ? normalized_ : plain_;
  size_t done = 0;
  if (trie.nodes.size() > 1) {
    for (size_t pos = 0; pos < text.size();) {
      if (trie.roots[static_cast<unsigned char>(text[pos])] == 0) {
        ++pos;
        continue;
      }
      const auto [match_end, id] = trie.longest(text, pos);
      if (id == kNoToken) {
        ++pos;
        continue;
      }
      const AddedToken& token = by_id_.at(id);
      size_t begin = pos, end = match_end;
      pos = match_end;
      if (token.single_word && ((begin > 0 && is_word_before(text, begin)) ||
                                (end < text.size() && is_word_at(text, end)))) {
        continue;
      }
      if (token.lstrip) begin = std::max(skip_spaces_back(text, begin, 0), done);
      if (token.rstrip) end = skip_spaces(text, end);
      if (done < begin) out.push_back({done, begin, kNoToken});
      out.push_back({begin, end, id});
      done = end;
    }
  }
  if (done < text.size()) out.push_back({done, text.size(), kNoToken});
}

}  // namespace spindrift
