#include "io/model_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr const char* kOne = "1111111111111111111111111111111111111111";
constexpr const char* kTwelve = "1222222222222222222222222222222222222222";

// A hub cache with one repository, two snapshots, a branch, a tag and a pull request.
class HubCache : public ::testing::Test {
 protected:
  HubCache() {
    for (const char* commit : {kOne, kTwelve})
      dir_.write(in_repository("snapshots/") + commit + "/config.json", "{}");
    dir_.write(in_repository("refs/main"), kOne);
    dir_.write(in_repository("refs/v1.0"), std::string(kTwelve) + "\n");
    dir_.write(in_repository("refs/refs/pr/3"), kTwelve);
  }
  static std::string in_repository(std::string_view path) {
    return "models--org--na--me/" + std::string(path);
  }
  std::filesystem::path snapshot(const char* commit) const {
    return dir_ / (in_repository("snapshots/") + commit);
  }
  Result<std::filesystem::path> resolve(std::string_view model) const {
    return resolve_model(model, dir_.path());
  }

  TempDir dir_;
};

TEST_F(HubCache, ResolvesBranchesTagsCommitsAndPrefixes) {
  EXPECT_EQ(resolve("org/na--me").value(), snapshot(kOne));
  EXPECT_EQ(resolve("org/na--me@main").value(), snapshot(kOne));
  EXPECT_EQ(resolve("org/na--me@v1.0").value(), snapshot(kTwelve));
  EXPECT_EQ(resolve("org/na--me@refs/pr/3").value(), snapshot(kTwelve));
  EXPECT_EQ(resolve(std::string("org/na--me@") + kTwelve).value(), snapshot(kTwelve));
  EXPECT_EQ(resolve("org/na--me@12").value(), snapshot(kTwelve));
}

TEST_F(HubCache, RefusesAPrefixOfSeveralCommits) {
  const Error error = resolve("org/na--me@1").error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("expected the prefix of one snapshot, found"));
}

TEST_F(HubCache, SaysWhatIsThereWhenSomethingIsNot) {
  const Error revision = resolve("org/na--me@v2").error();
  EXPECT_EQ(revision.code, ErrorCode::kNotFound);
  EXPECT_THAT(revision.message, HasSubstr("main, refs, v1.0"));
  EXPECT_FALSE(revision.hint.empty());
  const Error repository = resolve("org/other").error();
  EXPECT_EQ(repository.code, ErrorCode::kNotFound);
  EXPECT_THAT(repository.message, HasSubstr("models--org--other"));
  EXPECT_THAT(repository.hint, HasSubstr("download org/other"));
}

TEST_F(HubCache, RefusesAFolderOfModelFoldersAndNamesOne) {
  dir_.write("shelf/first/config.json", "{}");
  const Error error = resolve((dir_ / "shelf").string()).error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("found a folder of model folders"));
  EXPECT_THAT(error.hint, HasSubstr((dir_ / "shelf/first").string()));
  dir_.write("shelf/config.json", "{}");
  EXPECT_EQ(resolve((dir_ / "shelf").string()).value(), dir_ / "shelf");
}

TEST_F(HubCache, RefusesARefWithoutItsSnapshot) {
  dir_.write(in_repository("refs/main"), "3333");
  EXPECT_THAT(resolve("org/na--me").error().message, HasSubstr("expected a snapshot `3333`"));
}

TEST_F(HubCache, NeverLeavesTheCache) {
  dir_.write("outside/config.json", "{}");
  dir_.write(in_repository("refs/evil"), "../../outside");
  for (const char* model : {"org/na--me@../../outside", "org/na--me@..", "org/na--me@",
                            "org/na--me@/etc", "org/na--me@evil", "../outside@main", "org/..",
                            "org/a/b", "", "@", "org/na--me@refs//pr/3"})
    EXPECT_FALSE(resolve(model).ok()) << model;
}

TEST_F(HubCache, PrefersAnExistingFolder) {
  const std::string folder = (dir_ / "models--org--na--me").string();
  EXPECT_EQ(resolve(folder).value(), folder);
}

TEST_F(HubCache, RefusesAFile) {
  const std::string file = dir_.write("config.json", "{}").string();
  EXPECT_THAT(resolve(file).error().message, HasSubstr("expected a model folder, found a file"));
}

TEST_F(HubCache, IsListedWithIdsThatResolve) {
  std::vector<std::string> names;
  for (const ModelCandidate& model : find_models(dir_.path()).value()) {
    names.push_back(model.name);
    EXPECT_EQ(resolve(model.name).value(), model.folder);
  }
  EXPECT_THAT(names, ElementsAre("org/na--me", "org/na--me@122222222222"));
}

TEST(FindModels, FindsFoldersWithAConfigAndStopsThere) {
  const TempDir dir;
  dir.write("b/config.json", "{}");
  dir.write("b/inner/config.json", "{}");
  dir.write("a/x/config.json", "{}");
  dir.write(".hidden/config.json", "{}");
  dir.write("file", "");
  std::vector<std::string> names;
  for (const ModelCandidate& model : find_models(dir.path()).value()) names.push_back(model.name);
  EXPECT_THAT(names, ElementsAre((dir / "a/x").string(), (dir / "b").string()));
  EXPECT_EQ(find_models(dir / "b").value().size(), 1U);
}

TEST(FindModels, EndsOnLinksThatFormALoop) {
  const TempDir dir;
  dir.write("a/m/config.json", "{}");
  std::filesystem::create_directory_symlink("..", dir / "a/up");
  std::filesystem::create_directory_symlink("self", dir / "self");
  std::filesystem::create_directory_symlink("a", dir / "also");
  EXPECT_EQ(find_models(dir.path()).value().size(), 1U);
}

TEST(FindModels, BoundsItsDepth) {
  const TempDir dir;
  std::string deep;
  for (int i = 0; i < 10; ++i) deep += "d/";
  dir.write(deep + "config.json", "{}");
  EXPECT_TRUE(find_models(dir.path()).value().empty());
}

TEST(FindModels, RefusesWhatIsNoFolder) {
  const TempDir dir;
  EXPECT_EQ(find_models(dir / "none").error().code, ErrorCode::kNotFound);
}

// Sets variables for a test and puts the old values back.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& values) {
    for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"}) {
      const char* old = std::getenv(name);
      old_[name] = old == nullptr ? std::nullopt : std::optional<std::string>(old);
      if (const auto at = values.find(name); at == values.end())
        ::unsetenv(name);
      else
        ::setenv(name, at->second.c_str(), 1);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : old_) {
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> old_;
};

std::string cache_with(const std::map<std::string, std::string>& values) {
  const Environment environment(values);
  return hub_cache_dir().string();
}

TEST(HubCacheDir, FollowsTheVariablesInOrder) {
  EXPECT_EQ(cache_with({{"HOME", "/h"}}), "/h/.cache/huggingface/hub");
  EXPECT_EQ(cache_with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}), "/x/huggingface/hub");
  EXPECT_EQ(cache_with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "~/f"}}), "/h/f/hub");
  EXPECT_EQ(cache_with({{"HOME", "/h"}, {"HF_HOME", "/f"}, {"HF_HUB_CACHE", "/c"}}), "/c");
  EXPECT_EQ(cache_with({{"HOME", "/h"}, {"HF_HOME", ""}, {"HF_HUB_CACHE", ""}}),
            "/h/.cache/huggingface/hub");
}

}  // namespace
}  // namespace spindrift
