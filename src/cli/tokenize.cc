#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
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

Status check(const Flags& flags) {
  SPINDRIFT_TRY_STATUS(check_stdin_argument(flags.standard_input));
  const bool given[] = {flags.prompt.has_value(), flags.file.has_value(), flags.decode.has_value(),
                        !flags.standard_input.empty()};
  if (std::count(std::begin(given), std::end(given), true) == 1) return ok_status();
  return Error{ErrorCode::kUsage,
               "tokenize: expected one of -p TEXT, --file FILE, - or --decode LIST",
               "see spindrift tokenize --help"};
}

int run(const Flags& flags) {
  if (const Status valid = check(flags); !valid.ok()) return fail(valid.error());
  auto parts = load_text_parts(flags.model.model, TextPart::kTokenizer);
  if (!parts.ok()) return fail(parts.error());
  const Tokenizer& tokenizer = *parts.value().tokenizer;
  Terminal out(ColorMode::kNever);
  if (flags.decode) {
    auto ids = parse_ids(*flags.decode, tokenizer.vocab_size());
    if (!ids.ok()) return fail(ids.error());
    out.write(tokenizer.decode(ids.value(), /*skip_special=*/false));
    return written(out);
  }
  std::string text;
  if (flags.prompt) {
    text = *flags.prompt;
  } else {
    auto read = read_text(flags.file.value_or("-"));
    if (!read.ok()) return fail(read.error());
    text = std::move(read).value();
  }
  auto ids =
      tokenizer.encode(text, {.add_special = flags.add_bos, .parse_special = !flags.no_special});
  if (!ids.ok()) return fail(ids.error());
  nlohmann::ordered_json json = {{"ids", ids.value()}, {"tokens", nlohmann::json::array()}};
  for (const TokenId id : ids.value()) json["tokens"].push_back(tokenizer.spelling(id));
  out.write(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  out.end_line();
  return written(out);
}

}  // namespace

Run add_tokenize(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  app.add_option("-p,--prompt", flags->prompt, "Text")->type_name("TEXT");
  app.add_option("--file", flags->file, "File with the text")->type_name("FILE");
  add_stdin_argument(app, flags->standard_input, "Reads standard input");
  app.add_option("--decode", flags->decode, "Ids to turn into text: \"1,2,3\" or @FILE")
      ->type_name("IDS");
  app.add_flag("--add-bos", flags->add_bos, "Add what the tokenizer adds around a text (BOS)");
  app.add_flag("--no-special", flags->no_special, "Treat added tokens as ordinary text");
  app.footer(
      "Examples:\n"
      "  spindrift tokenize -m MODEL -p 'def f(x):'\n"
      "  spindrift tokenize -m MODEL --decode 2,97,414");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
