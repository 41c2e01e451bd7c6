#include "server/completion_request.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "server/field_reader.h"

namespace spindrift::server {
namespace {

constexpr int64_t kMaxTopLogprobs = 20;
constexpr size_t kMaxStops = 64;
constexpr size_t kMaxStopBytes = 1024;  // of each: every answer has tables of them
constexpr size_t kMaxBiases = 1024;
constexpr int64_t kMaxPrompts = 256;

std::variant<FieldReader, ApiError> open(std::string_view body) {
  auto json = JsonObject::parse(body, "body");
  if (!json.ok()) return ApiError{.message = json.error().message, .code = "invalid_json"};
  return FieldReader(std::move(json).value());
}

void read_model(FieldReader& in, const RequestContext& context) {
  const auto model = in.text("model");
  if (!model || context.served_name.empty() || *model == context.served_name) return;
  in.refuse({.status = 404,
             .message = "expected the model `" + context.served_name + "`",
             .param = "model",
             .code = "model_not_found"});
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Decimal digits alone: an id has one spelling ("5", not "05" or "-0").
std::optional<TokenId> plain_id(std::string_view text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  return whole_number<TokenId>(text);
}

// Any 64 bits: negative seeds, which other servers take, stand for their two's complement.
void read_seed(FieldReader& in, uint64_t& seed) {
  if (!in.has("seed")) return;
  const std::string text = in.json().dump("seed");
  if (const auto natural = whole_number<uint64_t>(text)) {
    seed = *natural;
  } else if (const auto negative = whole_number<int64_t>(text)) {
    seed = static_cast<uint64_t>(*negative);
  } else {
    in.expected("seed", "a whole number of 64 bits");
  }
}

void read_logit_bias(FieldReader& in, const RequestContext& context, SamplingParams& out) {
  const auto biases = in.object("logit_bias");
  if (!biases) return;
  const std::vector<std::string> ids = biases->keys();
  if (ids.size() > kMaxBiases) return in.expected("logit_bias", "at most 1024 entries");
  const int64_t vocab = context.vocab;
  for (const std::string& id : ids) {
    const auto token = plain_id(id);
    if (!token || *token >= vocab)
      return in.refuse({.message = "logit_bias: expected token ids from 0 to " +
                                   std::to_string(vocab - 1) + ", found `" + id.substr(0, 24) + "`",
                        .param = "logit_bias"});
    const auto bias = biases->get_number(id, -100, 100);
    if (!bias.ok()) return in.refuse(api_error(bias.error(), "logit_bias"));
    out.bias.push_back({.id = *token, .bias = static_cast<float>(bias.value())});
  }
}

// Penalties of OpenAI's that the sampler does not have: 0 asks for nothing.
void refuse_penalty(FieldReader& in, const char* key) {
  const auto value = in.number(key, -2, 2);
  if (value && *value != 0) in.refuse(unsupported(key, std::string(key) + " other than 0"));
}

void read_sampling(FieldReader& in, const RequestContext& context, SamplingParams& out) {
  if (const auto v = in.number("temperature", 0, 2)) out.temperature = static_cast<float>(*v);
  if (const auto v = in.integer("top_k", -1, std::numeric_limits<int32_t>::max()))
    out.top_k = static_cast<int32_t>(std::max<int64_t>(*v, 0));
  if (const auto v = in.number("top_p", 0, 1)) out.top_p = static_cast<float>(*v);
  if (const auto v = in.number("min_p", 0, 1)) out.min_p = static_cast<float>(*v);
  if (const auto v = in.number("repetition_penalty", 0, 100)) {
    out.repetition_penalty = static_cast<float>(*v);
    if (!(out.repetition_penalty > 0)) in.expected("repetition_penalty", "a number above 0");
  }
  read_seed(in, out.seed);
  read_logit_bias(in, context, out);
  refuse_penalty(in, "frequency_penalty");
  refuse_penalty(in, "presence_penalty");
}

void read_stop(FieldReader& in, StopSpec& out) {
  if (in.json().is_string("stop"))
    out.texts = {in.text("stop").value_or("")};
  else if (const auto texts = in.texts("stop"))
    out.texts = *texts;
  const bool fit = std::all_of(out.texts.begin(), out.texts.end(), [](const std::string& text) {
    return !text.empty() && text.size() <= kMaxStopBytes;
  });
  if (out.texts.size() > kMaxStops || !fit)
    in.expected("stop", "up to 64 texts of 1 to 1024 bytes");
  out.ignore_eos = in.boolean("ignore_eos").value_or(false);
  constexpr int64_t kMost = int64_t{1} << 40;
  for (const char* key : {"max_tokens", "max_completion_tokens"})  // the newer name wins
    if (const auto limit = in.integer(key, 0, kMost)) out.max_new_tokens = *limit;
}

void read_draft(FieldReader& in, int64_t depth, DraftWidth& out) {
  if (!in.has("draft_tokens")) return;
  if (in.json().is_string("draft_tokens")) {
    if (in.text("draft_tokens") == "auto")
      out = DraftWidth{};
    else
      in.expected("draft_tokens", "\"auto\" or a count");
    return;
  }
  const auto count = in.integer("draft_tokens", 0, 1024);
  if (!count) return;
  out = {.mode = *count == 0 ? DraftWidth::Mode::kOff : DraftWidth::Mode::kFixed,
         .tokens = static_cast<int>(std::min(*count, depth)),
         .nodes = out.nodes};
}

void read_stream(FieldReader& in, CommonFields& out) {
  out.stream = in.boolean("stream").value_or(false);
  const auto options = in.object("stream_options");
  if (!options) return;
  if (!out.stream)
    return in.refuse({.message = "stream_options: expected with \"stream\": true only",
                      .param = "stream_options"});
  FieldReader inner(*options, "stream_options.");
  out.include_usage = inner.boolean("include_usage").value_or(false);
  in.absorb(inner);
}

CommonFields read_common(FieldReader& in, const RequestContext& context) {
  const GenerationDefaults& defaults = context.defaults;
  CommonFields out;
  out.sampling = defaults.sampling;
  out.stop.ids = defaults.stop_ids;
  out.stop.max_new_tokens = defaults.max_new_tokens;
  out.draft = context.draft;
  read_model(in, context);
  out.choices = static_cast<int>(in.integer("n", 1, context.max_choices).value_or(1));
  read_sampling(in, context, out.sampling);
  read_stop(in, out.stop);
  read_draft(in, context.draft_depth, out.draft);
  read_stream(in, out);
  out.return_token_ids = in.boolean("return_token_ids").value_or(false);
  out.return_ledger = in.boolean("return_ledger").value_or(false);
  return out;
}

void read_chat_logprobs(FieldReader& in, CommonFields& out) {
  const bool wanted = in.boolean("logprobs").value_or(false);
  const auto top = in.integer("top_logprobs", 0, kMaxTopLogprobs);
  if (wanted) out.top_logprobs = static_cast<int32_t>(top.value_or(0));
  if (top.value_or(0) > 0 && !wanted)
    in.refuse({.message = "top_logprobs: expected with \"logprobs\": true only",
               .param = "top_logprobs"});
}

void read_response_format(FieldReader& in) {
  const auto format = in.object("response_format");
  if (!format) return;
  FieldReader inner(*format, "response_format.");
  const auto type = inner.text("type");
  if (!type) inner.expected("type", "a text");
  if (type && *type != "text")
    inner.refuse(unsupported("response_format", "response_format `" + *type + "`"));
  in.absorb(inner);
}

void check_tool(FieldReader& in, const JsonObject& tool, size_t index) {
  const std::string at = "tools[" + std::to_string(index) + "].";
  FieldReader outer(tool, at);
  const auto type = outer.text("type");
  if (type && *type != "function")
    outer.refuse(unsupported(at + "type", "a tool of type `" + *type + "`"));
  const auto function = outer.object("function");
  if (!function) outer.expected("function", "an object");
  if (function) {
    FieldReader inner(*function, at + "function.");
    if (inner.text("name").value_or("").empty()) inner.expected("name", "a name");
    inner.object("parameters");
    outer.absorb(inner);
  }
  in.absorb(outer);
}

void read_tools(FieldReader& in, ChatFields& out) {
  const auto tools = in.json().find_objects("tools");
  if (!tools.ok()) return in.refuse(api_error(tools.error(), "tools"));
  if (tools.value())
    for (size_t i = 0; i < tools.value()->size(); ++i) check_tool(in, (*tools.value())[i], i);
  const bool some = tools.value() && !tools.value()->empty();
  if (some) out.tools_json = in.json().dump("tools");
  if (in.has("tool_choice")) {
    if (!in.json().is_string("tool_choice"))
      return in.refuse(unsupported("tool_choice", "a forced tool choice"));
    const std::string choice = in.text("tool_choice").value_or("");
    if (choice == "none") {
      out.tools_json.clear();
      out.tool_calls = false;
    } else if (choice == "required") {
      in.refuse(unsupported("tool_choice", "tool_choice `required`"));
    } else if (choice != "auto") {
      in.expected("tool_choice", "\"none\" or \"auto\"");
    }
  }
  if (in.boolean("parallel_tool_calls") == false)
    in.refuse(unsupported("parallel_tool_calls", "parallel_tool_calls false"));
  for (const char* old : {"functions", "function_call"})
    if (in.has(old)) in.refuse(unsupported(old, std::string(old) + " (tools replaced it)"));
}

void read_template_kwargs(FieldReader& in, ChatFields& out) {
  const auto kwargs = in.object("chat_template_kwargs");
  if (!kwargs) return;
  FieldReader inner(*kwargs, "chat_template_kwargs.");
  out.enable_thinking = inner.boolean("enable_thinking");
  for (const std::string& key : kwargs->keys())
    if (key != "enable_thinking") out.template_variables.emplace_back(key, kwargs->dump(key));
  in.absorb(inner);
}

void read_text_logprobs(FieldReader& in, CommonFields& out) {
  if (in.json().is_bool("logprobs")) {
    if (in.boolean("logprobs") == true) out.top_logprobs = 0;
    return;
  }
  if (const auto top = in.integer("logprobs", 0, kMaxTopLogprobs))
    out.top_logprobs = static_cast<int32_t>(*top);
}

std::vector<TokenId> as_ids(const std::vector<int64_t>& list) { return {list.begin(), list.end()}; }

// One text, a list of texts, a list of ids, or a list of lists of ids.
void read_prompts(FieldReader& in, TextFields& out) {
  constexpr int64_t kMaxId = std::numeric_limits<TokenId>::max();
  constexpr const char* kForms = "a text, token ids, or a list of either";
  const JsonObject& json = in.json();
  if (json.is_string("prompt")) {
    out.prompts.emplace_back(*in.text("prompt"));
    return;
  }
  if (!json.is_array("prompt")) return in.expected("prompt", kForms);
  if (auto texts = json.get_strings("prompt"); texts.ok()) {
    for (std::string& text : texts.value()) out.prompts.emplace_back(std::move(text));
  } else if (const auto ids = json.get_ints("prompt", 0, kMaxId); ids.ok()) {
    out.prompts.emplace_back(as_ids(ids.value()));
  } else if (const auto lists = json.get_int_lists("prompt", 0, kMaxId); lists.ok()) {
    for (const auto& list : lists.value()) out.prompts.emplace_back(as_ids(list));
  }
  if (out.prompts.empty()) return in.expected("prompt", kForms);
  if (std::ssize(out.prompts) > kMaxPrompts) in.expected("prompt", "at most 256 prompts");
}

}  // namespace

std::variant<ChatFields, ApiError> read_chat_fields(std::string_view body,
                                                    const RequestContext& context) {
  auto opened = open(body);
  if (auto* error = std::get_if<ApiError>(&opened)) return std::move(*error);
  auto& in = std::get<FieldReader>(opened);
  ChatFields out;
  out.common = read_common(in, context);
  if (!in.json().is_array("messages")) in.expected("messages", "an array of messages");
  out.messages_json = in.json().dump("messages");
  read_tools(in, out);
  read_template_kwargs(in, out);
  read_chat_logprobs(in, out.common);
  read_response_format(in);
  if (in.error()) return *in.error();
  return out;
}

std::variant<TextFields, ApiError> read_text_fields(std::string_view body,
                                                    const RequestContext& context) {
  auto opened = open(body);
  if (auto* error = std::get_if<ApiError>(&opened)) return std::move(*error);
  auto& in = std::get<FieldReader>(opened);
  TextFields out;
  out.common = read_common(in, context);
  read_prompts(in, out);
  read_text_logprobs(in, out.common);
  read_response_format(in);
  if (in.boolean("echo") == true) in.refuse(unsupported("echo", "echo"));
  if (!in.text("suffix").value_or("").empty()) in.refuse(unsupported("suffix", "suffix"));
  if (const auto best = in.integer("best_of", 1, 128); best && *best != out.common.choices)
    in.refuse(unsupported("best_of", "best_of other than n"));
  const int64_t answers = std::ssize(out.prompts) * out.common.choices;
  if (answers > context.max_choices)
    in.refuse({.message = "prompt and n: expected at most " + std::to_string(context.max_choices) +
                          " answers in all, found " + std::to_string(answers),
               .param = "n"});
  if (in.error()) return *in.error();
  return out;
}

std::variant<TokenizeFields, ApiError> read_tokenize_fields(std::string_view body) {
  auto opened = open(body);
  if (auto* error = std::get_if<ApiError>(&opened)) return std::move(*error);
  auto& in = std::get<FieldReader>(opened);
  TokenizeFields out;
  if (in.has("messages")) {
    if (!in.json().is_array("messages")) in.expected("messages", "an array of messages");
    out.messages_json = in.json().dump("messages");
  } else if (const auto text = in.text(in.has("text") ? "text" : "prompt")) {
    out.text = *text;
  } else {
    in.expected("prompt", "a text");
  }
  out.add_special = in.boolean("add_special_tokens").value_or(true);
  out.spellings = in.boolean("return_token_strs").value_or(false);
  if (in.error()) return *in.error();
  return out;
}

std::variant<std::vector<TokenId>, ApiError> read_detokenize_fields(std::string_view body,
                                                                    const Tokenizer& tokenizer) {
  auto opened = open(body);
  if (auto* error = std::get_if<ApiError>(&opened)) return std::move(*error);
  auto& in = std::get<FieldReader>(opened);
  const char* key = in.has("ids") ? "ids" : "tokens";
  const auto ids = in.json().get_ints(key, 0, tokenizer.vocab_size() - 1);
  if (!ids.ok()) return api_error(ids.error(), key);
  return as_ids(ids.value());
}

}  // namespace spindrift::server
