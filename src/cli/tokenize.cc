#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/assemble.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace spindrift::cli {
namespace {

struct Flags {
  ModelFlags model;
  std::optional<std::string> prompt, file, decode;
  std::string standard_input;
  bool add_bos = false;
  bool no_special = false;
};

int run(const Flags& flags) {
  auto parts = load_text_parts(flags.model.model, TextPart::kTokenizer);
  if (!parts.ok()) return fail(parts.error());
  const Tokenizer& tokenizer = *parts.value().tokenizer;
  Terminal out(ColorMode::kNever);
  if (flags.decode) {
    auto ids = parse_ids(*flags.decode, tokenizer.vocab_size());
    if (!ids.ok()) return fail(ids.error());
    out.write(tokenizer.decode(ids.value(), /*skip_special=*/false));
    return out.ok() ? kOk : kOther;
  }
  std::string text;
  if (flags.prompt) {
    text = *flags.prompt;
  } else if (flags.file || flags.standard_input == "-") {
    auto read = read_text(flags.file.value_or("-"));
    if (!read.ok()) return fail(read.error());
    text = std::move(read).value();
  } else {
    return fail({ErrorCode::kUsage, "tokenize: expected -p TEXT, --file FILE, - or --decode LIST"});
  }
  auto ids =
      tokenizer.encode(text, {.add_special = flags.add_bos, .parse_special = !flags.no_special});
  if (!ids.ok()) return fail(ids.error());
  nlohmann::ordered_json json = {{"ids", ids.value()}, {"tokens", nlohmann::json::array()}};
  for (const TokenId id : ids.value()) json["tokens"].push_back(tokenizer.spelling(id));
  out.write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  out.end_line();
  return out.ok() ? kOk : kOther;
}

}  // namespace

Run add_tokenize(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  auto* prompt = app.add_option("-p,--prompt", flags->prompt, "Text");
  auto* file = app.add_option("--file", flags->file, "File with the text")->excludes(prompt);
  auto* input = app.add_option("input", flags->standard_input, "- reads standard input")
                    ->check(CLI::IsMember({"-"}))
                    ->excludes(prompt)
                    ->excludes(file);
  app.add_option("--decode", flags->decode, "Ids to turn into text: \"1,2,3\" or @FILE")
      ->excludes(prompt)
      ->excludes(file)
      ->excludes(input);
  app.add_flag("--add-bos", flags->add_bos, "Add what the tokenizer adds around a text (BOS)");
  app.add_flag("--no-special", flags->no_special, "Treat added tokens as ordinary text");
  app.footer(
      "Examples:\n"
      "  spindrift tokenize -m MODEL -p 'def f(x):'\n"
      "  spindrift tokenize -m MODEL --decode 2,97,414");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
