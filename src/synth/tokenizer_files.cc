#include "synth/tokenizer_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "synth/chat_templates.h"

namespace spindrift::synth {
namespace {

using Json = nlohmann::ordered_json;

struct SpecialToken {
  int64_t id;
  std::string text;
  bool special;
};

// GPT-2's printable stand-in for a byte, and the order in which vocabularies list the 256.
struct ByteSymbol {
  unsigned byte;
  std::string text;
};

std::string utf8(unsigned code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0U | code >> 6), static_cast<char>(0x80U | (code & 0x3FU))};
}

std::vector<ByteSymbol> byte_symbols() {
  const auto printable = [](unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
  };
  std::vector<ByteSymbol> symbols;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (printable(byte)) symbols.push_back({byte, utf8(byte)});
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (!printable(byte)) symbols.push_back({byte, utf8(next++)});
  return symbols;
}

using Merge = std::pair<std::string, std::string>;

// The first `count` of: pairs of letters, a blank and a pair, fours of letters; frequent letters
// come first.
std::vector<Merge> made_up_merges(size_t count) {
  constexpr std::string_view kLetters = "etaoinshrdlucmfwypvbgkqjxz";
  const std::string blank = utf8(0x120);
  std::vector<Merge> merges;
  std::vector<std::string> pairs;
  for (size_t sum = 0; sum <= 2 * (kLetters.size() - 1); ++sum)
    for (size_t i = 0; i <= sum; ++i) {
      if (i >= kLetters.size() || sum - i >= kLetters.size()) continue;
      merges.push_back({std::string(1, kLetters[i]), std::string(1, kLetters[sum - i])});
      pairs.push_back(merges.back().first + merges.back().second);
    }
  for (const std::string& pair : pairs) merges.push_back({blank, pair});
  for (size_t sum = 0; merges.size() < count; ++sum)
    for (size_t i = 0; i <= sum && merges.size() < count; ++i)
      if (i < pairs.size() && sum - i < pairs.size()) merges.push_back({pairs[i], pairs[sum - i]});
  merges.resize(count);
  return merges;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

Json added_tokens(std::span<const SpecialToken> tokens) {
  Json list = Json::array();
  for (const SpecialToken& token : tokens)
    list.push_back({{"id", token.id},
                    {"content", token.text},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", token.special}});
  return list;
}

// `rest` has everything of the file but the model. Ids: the special tokens below the first byte,
// the bytes, the merges, the special tokens above.
std::string tokenizer_json(Json rest, std::span<const SpecialToken> specials, int64_t vocabulary) {
  int64_t below = 0;
  while (below < std::ssize(specials) && specials[static_cast<size_t>(below)].id == below) ++below;
  const std::vector<ByteSymbol> bytes = byte_symbols();
  const auto count = static_cast<size_t>(vocabulary - std::ssize(specials) - std::ssize(bytes));
  const std::vector<Merge> merges = made_up_merges(count);
  std::string vocab = "{", list = "[";
  const auto add = [&](std::string_view text, int64_t id) {
    if (vocab.size() > 1) vocab += ",\n";
    append_quoted(vocab, text);
    vocab.append(": ").append(std::to_string(id));
  };
  int64_t id = below;
  for (const ByteSymbol& symbol : bytes) add(symbol.text, id++);
  for (const Merge& merge : merges) {
    add(merge.first + merge.second, id++);
    list += list.size() > 1 ? ",\n[" : "[";
    append_quoted(list, merge.first);
    list += ", ";
    append_quoted(list, merge.second);
    list += ']';
  }
  for (const SpecialToken& token : specials) add(token.text, token.id);
  rest["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false}};
  std::string text = rest.dump(1);
  text.resize(text.rfind('}', text.rfind('}') - 1));  // opens the model object again
  text.append(",\n\"vocab\": ").append(vocab).append("},\n\"merges\": ").append(list);
  return text.append("]}}\n");
}

Json file_frame(std::span<const SpecialToken> specials, Json pre_tokenizers, Json post_processor) {
  const Json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", true},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added_tokens(specials)},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", std::move(pre_tokenizers)}}},
          {"post_processor", std::move(post_processor)},
          {"decoder", byte_level}};
}

Json split(const char* regex, const char* behavior) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", regex}}},
          {"behavior", behavior},
          {"invert", false}};
}

std::vector<SpecialToken> laguna_specials() {
  constexpr std::array kFirst = {"UNK",      "CODE_START", "EOS",        "CODE_END", "META_START",
                                 "META_END", "FIM_MIDDLE", "FIM_SUFFIX", "SEP",      "PAD",
                                 "CLS",      "FIM_START",  "MASK"};
  constexpr std::array kPlain = {"|◊|", "〈|", "|〉", "〈|/", "/|〉"};
  constexpr std::array kTags = {"<think>",      "</think>",    "SPECIAL_1",
                                "SPECIAL_2",    "SPECIAL_3",   "<assistant>",
                                "</assistant>", "<tool_call>", "</tool_call>"};
  const auto bracketed = [](const std::string& name) { return "〈|" + name + "|〉"; };
  std::vector<SpecialToken> tokens;
  const auto add = [&](std::string text, bool special) {
    tokens.push_back({std::ssize(tokens), std::move(text), special});
  };
  for (const char* name : kFirst) add(bracketed(name), true);
  for (const char* text : kPlain) add(text, true);
  for (const char* text : kTags) *text == '<' ? add(text, false) : add(bracketed(text), true);
  for (int i = 8; i <= 50; ++i) add(bracketed("SPECIAL_" + std::to_string(i)), true);
  return tokens;
}

std::vector<SpecialToken> granite_specials() {
  constexpr std::array kFirst = {
      "<|end_of_text|>", "<fim_prefix>",   "<fim_middle>",   "<fim_suffix>",     "<fim_pad>",
      "<filename>",      "<gh_stars>",     "<issue_start>",  "<issue_comment>",  "<issue_closed>",
      "<jupyter_start>", "<jupyter_text>", "<jupyter_code>", "<jupyter_output>", "<empty_output>",
      "<commit_before>", "<commit_msg>",   "<commit_after>", "<reponame>"};
  std::vector<SpecialToken> tokens;
  for (const char* text : kFirst) tokens.push_back({std::ssize(tokens), text, true});
  int64_t id = 49152;
  for (const char* text : {"<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"})
    tokens.push_back({id++, text, true});
  return tokens;
}

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

}  // namespace

std::vector<TextFile> laguna_tokenizer_files() {
  constexpr const char* kEos = "〈|EOS|〉";
  const std::vector<SpecialToken> specials = laguna_specials();
  const Json splits = {
      split(R"((?:\r?\n)+(?!\r?\n))", "MergedWithNext"),
      split(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+)"
            R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
            "Isolated"),
      {{"type", "ByteLevel"},
       {"add_prefix_space", false},
       {"trim_offsets", true},
       {"use_regex", false}}};
  const Json bos = {{"SpecialToken", {{"id", kEos}, {"type_id", 0}}}};
  const Json a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json b = {{"Sequence", {{"id", "B"}, {"type_id", 0}}}};
  const Json post = {
      {"type", "TemplateProcessing"},
      {"single", Json::array({bos, a})},
      {"pair", Json::array({bos, a, b})},
      {"special_tokens",
       {{kEos, {{"id", kEos}, {"ids", Json::array({2})}, {"tokens", Json::array({kEos})}}}}}};
  const Json roles = {{"bos_token", kEos},        {"cls_token", "〈|CLS|〉"},
                      {"eos_token", kEos},        {"mask_token", "〈|MASK|〉"},
                      {"pad_token", "〈|PAD|〉"}, {"sep_token", "〈|SEP|〉"},
                      {"unk_token", "〈|UNK|〉"}};
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  config.update(roles);
  return {{"tokenizer.json", tokenizer_json(file_frame(specials, splits, post), specials, 100352)},
          {"tokenizer_config.json", text_of(config)},
          {"special_tokens_map.json", text_of(roles)},
          {"chat_template.jinja", std::string(kLagunaChatTemplate)}};
}

std::vector<TextFile> granite_tokenizer_files() {
  constexpr const char* kEnd = "<|end_of_text|>";
  const std::vector<SpecialToken> specials = granite_specials();
  const Json splits = {{{"type", "Digits"}, {"individual_digits", true}},
                       {{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"use_regex", true}}};
  const Json config = {{"tokenizer_class", "GPT2TokenizerFast"},
                       {"bos_token", kEnd},
                       {"eos_token", kEnd},
                       {"pad_token", kEnd}};
  return {
      {"tokenizer.json", tokenizer_json(file_frame(specials, splits, nullptr), specials, 49155)},
      {"tokenizer_config.json", text_of(config)},
      {"chat_template.jinja", std::string(kGraniteChatTemplate)}};
}

}  // namespace spindrift::synth
