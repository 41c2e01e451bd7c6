#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "chat/jinja/runtime.h"
#include "core/result.h"

namespace spindrift::jinja {

struct Program;

// A parsed chat template: jinja2 with trim_blocks and lstrip_blocks, in the immutable sandbox, with
// loop controls, `generation` blocks, raise_exception, strftime_now and a tojson without HTML
// escapes, as transformers sets it up. Const once parsed; renders may run in parallel.
class Template {
 public:
  // name: how errors call the template (its file). Errors: kInvalid or kUnsupported, "NAME:LINE:
  // what".
  static Result<Template> parse(std::string_view source, std::string name);
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  // Whether the template loops over a message's `content`, so that lists of content parts are its
  // own business.
  bool reads_content_parts() const { return reads_content_parts_; }

  // Makes the variables of one render. What it throws (TemplateError) becomes render's error.
  using Variables = std::function<const Dict*(Runtime& rt)>;
  struct Options {
    Limits limits = {};
    std::tm now = {};  // what strftime_now tells
    int microseconds = 0;
    std::string name = {};  // how errors call the template; empty = as parse() was told
  };
  Result<std::string> render(const Variables& variables, const Options& options) const;

 private:
  Template(std::unique_ptr<const Program> program, std::string name);
  std::unique_ptr<const Program> program_;
  std::string name_;
  bool reads_content_parts_ = false;
};

}  // namespace spindrift::jinja
