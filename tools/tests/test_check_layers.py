import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import check_layers  # noqa: E402

GOOD = {
    "core/result.h": "#pragma once\n#include <variant>\n",
    "core/log.h": "#pragma once\n#include <spdlog/spdlog.h>\n",
    "io/weight_store.h": '#pragma once\n#include "core/result.h"\n',
    "io/json_config.h": '#pragma once\n#include "core/result.h"\n',
    "io/json_config.cc": '#include "io/json_config.h"\n\n#include <nlohmann/json.hpp>\n\n#include "core/result.h"\n',
    "kernels/linear.h": "#pragma once\n#include <hwy/base.h>\n",
    "nn/linear.h": '#pragma once\n#include "io/weight_store.h"\n#include "kernels/linear.h"\n',
    "models/target_model.h": '#pragma once\n#include "nn/linear.h"\n',
    "models/laguna/model.h": '#pragma once\n#include "models/target_model.h"\n#include "nn/linear.h"\n',
    "drafters/drafter.h": '#pragma once\n#include "models/target_model.h"\n',
    "engine/generator.h": '#pragma once\n#include "drafters/drafter.h"\n#include "models/target_model.h"\n',
    "app/assemble.cc": '#include "engine/generator.h"\n#include "models/laguna/model.h"\n#include "spindrift/spindrift.h"\n',
    "cli/main.cc": '#include <CLI/CLI.hpp>\n#include <unistd.h>\n#include "engine/generator.h"\n',
}


class CheckLayersTest(unittest.TestCase):
    def problems_of(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = Path(root, "src", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            problems, count = check_layers.check_tree(root)
            self.assertEqual(count, len(files))
            return problems

    def assert_refused(self, name, text, words):
        problems = self.problems_of({**GOOD, name: text})
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(name, problems[0])
        self.assertIn(words, problems[0])

    def test_a_tree_that_follows_the_table_passes(self):
        self.assertEqual(self.problems_of(GOOD), [])

    def test_core_includes_no_other_folder(self):
        self.assert_refused("core/a.h", '#pragma once\n#include "io/weight_store.h"\n', "src/core may not include it")

    def test_a_model_does_not_see_drafters(self):
        self.assert_refused("models/laguna/a.cc", '#include "drafters/drafter.h"\n', "src/models may not include it")

    def test_a_drafter_does_not_see_a_concrete_model(self):
        self.assert_refused("drafters/a.cc", '#include "models/laguna/model.h"\n', "src/drafters may not include it")

    def test_the_engine_does_not_see_weights(self):
        self.assert_refused("engine/a.cc", '#include "io/weight_store.h"\n', "src/engine may not include it")

    def test_a_header_allowed_by_name_does_not_open_its_folder(self):
        self.assert_refused("tokenizer/a.cc", '#include "io/weight_store.h"\n', "src/tokenizer may not include it")

    def test_a_library_allowed_in_cc_files_is_refused_in_a_header(self):
        self.assert_refused("io/a.h", "#pragma once\n#include <nlohmann/json.hpp>\n", "in .cc files only")

    def test_a_library_outside_its_folder_is_refused(self):
        self.assert_refused("engine/a.cc", "#include <hwy/highway.h>\n", "hwy is not allowed here")

    def test_a_library_allowed_in_one_file_is_refused_in_its_neighbours(self):
        self.assert_refused("core/a.cc", "#include <spdlog/spdlog.h>\n", "spdlog is not allowed here")

    def test_an_unknown_library_is_refused(self):
        self.assert_refused("io/a.cc", "#include <boost/any.hpp>\n", "not a known library")

    def test_a_header_that_does_not_exist_is_refused(self):
        self.assert_refused("io/a.cc", '#include "core/nothing.h"\n', "no such header")

    def test_a_path_without_its_folder_is_refused(self):
        self.assert_refused("io/a.cc", '#include "weight_store.h"\n', "spell it")

    def test_a_library_in_quotes_is_still_that_library(self):
        self.assert_refused("engine/a.cc", '#include "nlohmann/json.hpp"\n', "nlohmann is not allowed here")

    def test_including_a_cc_file_is_refused(self):
        self.assert_refused("io/a.cc", '#include "io/json_config.cc"\n', "never included")

    def test_an_include_through_a_macro_is_refused(self):
        self.assert_refused("io/a.cc", "#define H <vector>\n#include H\n", "through the macro H")

    def test_highways_own_reinclusion_is_allowed(self):
        text = ('#undef HWY_TARGET_INCLUDE\n#define HWY_TARGET_INCLUDE "kernels/linear.cc"\n'
                "#include <hwy/foreach_target.h>\n#include <hwy/highway.h>\n#include \"kernels/linear.h\"\n")
        self.assertEqual(self.problems_of({**GOOD, "kernels/linear.cc": text}), [])

    def test_own_header_comes_first(self):
        text = '#include <nlohmann/json.hpp>\n\n#include "io/json_config.h"\n'
        self.assert_refused("io/json_config.cc", text, "own header")

    def test_a_header_without_a_guard_is_refused(self):
        self.assert_refused("io/a.h", "#include <vector>\n", "#pragma once")

    def test_a_folder_outside_the_table_is_refused(self):
        self.assert_refused("utils/a.h", "#pragma once\n", "not in the table")

    def test_the_line_of_the_include_is_named(self):
        problems = self.problems_of({**GOOD, "io/a.cc": "// one\n\n#include <vector>\n#include <hwy/base.h>\n"})
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("io/a.cc:4:"), problems[0])

    def test_an_include_in_a_comment_is_not_an_include(self):
        self.assertEqual(self.problems_of({**GOOD, "io/a.cc": "// #include <hwy/base.h>\n"}), [])


if __name__ == "__main__":
    unittest.main()
