#include <spindrift/spindrift.h>

#include <iostream>

// embed MODEL [DRAFT_MODEL]: asks for a function and prints the answer as it is made.
int main(int argc, char** argv) {
  if (argc < 2) return std::cerr << "usage: embed MODEL [DRAFT_MODEL]\n", 2;
  auto model = spindrift::Model::load({.model = argv[1], .draft_model = argc > 2 ? argv[2] : ""});
  if (!model) return std::cerr << model.error().message << '\n', 3;
  const spindrift::ChatMessage question{"user", "Write a function that merges two sorted lists."};
  const auto print = [](std::string_view piece) { return bool(std::cout << piece << std::flush); };
  auto answer = model->chat({&question, 1}, {.max_new_tokens = 200, .on_text = print});
  if (!answer) return std::cerr << answer.error().message << '\n', 5;
  std::cerr << "\n"
            << answer->token_ids.size() << " tokens, " << answer->accepted << " of them drafted\n";
}
