#include "app/cost_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

class CostCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", temp_.path().c_str(), 1);
    AssembleOptions options;
    options.model = (testing::repo_dir() / "models/laguna-tiny-nvfp4").string();
    options.draft_model = (testing::repo_dir() / "models/laguna-tiny-dflash").string();
    options.threads = 1;
    auto loaded = assemble(options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    assembly_ = std::move(loaded).value();
    for (int i = 0; i < 3; ++i) {
      costs_.verify.add(1, 1.0);
      costs_.verify.add(5, 1.5);
      costs_.chain.of(1).add(4, 0.25);
    }
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  static std::string read(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file) << text;
  }

  testing::TempDir temp_;
  std::unique_ptr<Assembly> assembly_;
  RoundCosts costs_;
};

TEST_F(CostCacheTest, GivesBackWhatItWasGiven) {
  const CostCache cache(*assembly_);
  EXPECT_FALSE(cache.load().verify.any());
  cache.save(costs_);
  const RoundCosts kept = CostCache(*assembly_).load();
  EXPECT_EQ(kept.verify.at(5), 1.5);
  EXPECT_EQ(kept.verify.count(1), 3);
  EXPECT_EQ(kept.chain.nearest(1)->at(4), 0.25);
  EXPECT_FALSE(kept.tree.any());
}

TEST_F(CostCacheTest, LeavesNothingButItsFile) {
  const CostCache cache(*assembly_);
  cache.save(costs_);
  cache.save(costs_);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache.file().parent_path()))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1);
}

TEST_F(CostCacheTest, IgnoresWhatIsBrokenOrForeign) {
  const CostCache cache(*assembly_);
  cache.save(costs_);
  const std::string good = read(cache.file());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"version\":2}"), good.substr(0, 40),
        changed("\"version\":2", "\"version\":3"), changed("1 threads", "2 threads"),
        changed("[[1,1.0,3]", "[[1,-1.0,3]"), std::string(2 << 20, ' ')}) {
    write(cache.file(), text);
    EXPECT_FALSE(cache.load().verify.count(1) > 0) << text.substr(0, 100);
  }
}

TEST_F(CostCacheTest, KeepsNothingBeforePlainRoundsWereMeasured) {
  RoundCosts few;
  few.verify.add(5, 1.0);
  few.chain.of(1).add(4, 1.0);
  const CostCache cache(*assembly_);
  cache.save(few);
  EXPECT_FALSE(std::filesystem::exists(cache.file()));
}

}  // namespace
}  // namespace spindrift
