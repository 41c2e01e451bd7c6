#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace spindrift::cli {

// One function a subcommand: declares its flags on `app` and returns what runs it, giving the exit
// code.
using Run = std::function<int()>;

Run add_generate(CLI::App& app);
Run add_chat(CLI::App& app);
Run add_logits(CLI::App& app);
Run add_tokenize(CLI::App& app);
Run add_template(CLI::App& app);
Run add_inspect(CLI::App& app);
Run add_list(CLI::App& app);
Run add_verify(CLI::App& app);
Run add_synth(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_info(CLI::App& app);
Run add_serve(CLI::App& app);

}  // namespace spindrift::cli
