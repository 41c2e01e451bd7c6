#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class FormatterBase;
class ParseError;
}  // namespace CLI

namespace spindrift::cli {

// How --help looks: a usage line with what is required, then groups of flags, each with the kind of
// value it takes and its default.
std::shared_ptr<CLI::FormatterBase> help_formatter();

// One line for a command line that cannot be parsed.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace spindrift::cli
