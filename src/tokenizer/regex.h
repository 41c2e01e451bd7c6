#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"
#include "tokenizer/pattern.h"

namespace spindrift {

// Compiles `expression` in Oniguruma's own syntax, the one the `tokenizers` package uses, with its
// character properties widened to the package's Unicode version. `where` names the place in errors.
// Not covered by the widening, and so different for code points assigned after Unicode 14: \b, \X,
// and case folding.
Result<std::unique_ptr<Pattern>> compile_regex(std::string_view expression, std::string_view where);

// The expression with every \p{..}, \P{..}, \w, \W, \d, \D and [:punct:] replaced by a class that
// has the package's members. kUnsupported for a property that has not been compared.
Result<std::string> widen_properties(std::string_view expression, std::string_view where);

}  // namespace spindrift
