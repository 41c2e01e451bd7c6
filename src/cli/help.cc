#include "cli/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace spindrift::cli {
namespace {

constexpr size_t kColumn = 30;
constexpr size_t kWidth = 100;
constexpr std::string_view kUngrouped = "Options";

// "INT:INT in [1 - 8]" is the library's way to name a value with its check.
std::string value_name(const CLI::Option& option) {
  if (option.get_type_size() == 0) return {};
  const std::string full = option.get_type_name();
  std::string name = full.substr(0, full.find(':'));
  if (name == "INT" || name == "UINT") return "N";
  if (name == "FLOAT") return "X";
  return name;
}

bool takes_many(const CLI::Option& option) {
  return option.get_positional() &&
         option.get_expected_max() == CLI::detail::expected_max_vector_size;
}

std::string argument_name(const CLI::Option& option) {
  std::string name = value_name(option);
  if (name == "TEXT") {
    name = option.get_name();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return takes_many(option) ? name + "..." : name;
}

// "-m, --model MODEL"
std::string flag_name(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) names += "--" + name + ", ";
  names.resize(names.size() - 2);
  const std::string value = value_name(option);
  return value.empty() ? names : names + " " + value;
}

std::string description(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty())
    text += fmt::format(" (default: {})", option.get_default_str());
  return text;
}

// The name in its column, the text beside it, broken between words.
std::string entry(const std::string& name, std::string_view text) {
  std::string out = fmt::format("  {:<{}}", name, kColumn - 2);
  size_t at = out.size();
  if (at > kColumn - 2 && out.back() != ' ') {
    out += '\n' + std::string(kColumn, ' ');
    at = kColumn;
  }
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (at + end > kWidth && at > kColumn) {
      out.back() = '\n';
      out += std::string(kColumn, ' ');
      at = kColumn;
    }
    out += fmt::format("{} ", text.substr(0, end));
    at += end + 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

class Help final : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::string out = app->get_description() + ".\n\n" + usage(*app, name);
    const auto arguments = options(*app, [](const CLI::Option* o) { return o->get_positional(); });
    if (!arguments.empty()) out += "\nArguments:\n";
    for (const CLI::Option* option : arguments)
      out += entry(argument_name(*option), option->get_description());
    std::vector<std::string> groups = app->get_groups();
    std::stable_partition(groups.begin(), groups.end(),
                          [](const std::string& group) { return group != kUngrouped; });
    for (const std::string& group : groups) {
      const auto flags = options(*app, [&group](const CLI::Option* o) {
        return o->nonpositional() && o->get_group() == group;
      });
      if (!flags.empty()) out += fmt::format("\n{}:\n", group);
      for (const CLI::Option* option : flags)
        out += entry(flag_name(*option), description(*option));
    }
    const auto commands = app->get_subcommands([](const CLI::App*) { return true; });
    if (!commands.empty()) out += "\nCommands:\n";
    for (const CLI::App* command : commands)
      out += entry(command->get_name(), command->get_description());
    if (!app->get_footer().empty()) out += "\n" + app->get_footer() + "\n";
    return out;
  }

 private:
  template <class Filter>
  static std::vector<const CLI::Option*> options(const CLI::App& app, Filter filter) {
    return app.get_options([&filter](const CLI::Option* option) { return filter(option); });
  }

  static std::string usage(const CLI::App& app, const std::string& name) {
    std::string out = "usage: " + name;
    if (app.get_require_subcommand_min() > 0) return out + " COMMAND [OPTION...]\n";
    std::string arguments;
    for (const CLI::Option* option : options(app, [](const CLI::Option*) { return true; })) {
      if (option->get_positional())
        arguments += option->get_required() ? " " + argument_name(*option)
                                            : " [" + argument_name(*option) + "]";
      else if (option->get_required())
        out += fmt::format(" {} {}", option->get_name(), value_name(*option));
    }
    return out + " [OPTION...]" + arguments + "\n";
  }
};

// "spindrift" has no name in front; a command's own messages have.
std::string prefix(const CLI::App& app) {
  return app.get_parent() == nullptr ? std::string() : app.get_name() + ": ";
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<Help>(); }

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto given = app.get_subcommands();
  const CLI::App& command = given.empty() ? app : *given.front();
  const std::string_view what = error.what();
  const auto extras = app.remaining(/*recurse=*/true);
  if (!extras.empty()) {
    const std::string& first = extras.front();
    return fmt::format("{}unknown {} `{}`", prefix(command),
                       first.starts_with('-') ? "flag" : "argument", first);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    return given.empty() ? "expected a command, found none" : prefix(command) + error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && what.ends_with(" missing"))
    return fmt::format("{}: expected a value, found none", what.substr(0, what.find(':')));
  return error.what();
}

}  // namespace spindrift::cli
