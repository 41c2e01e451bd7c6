#include "bench/point.h"

#include <gtest/gtest.h>

namespace spindrift::bench {
namespace {

std::vector<Point> two_points() {
  std::vector<Point> points(2);
  for (int64_t i = 0; i < 2; ++i) {
    Point& point = points[static_cast<size_t>(i)];
    point.push_back({"rows", i + 1});
    add_spread(point, "ms", spread({2.5, 0.5, 1.5}));
    point.push_back({"bytes", int64_t{123'456'789}});
    point.push_back({"what", std::string("cold")});
  }
  return points;
}

TEST(Spread, IsMedianLeastAndMost) {
  const Spread odd = spread({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(spread({4, 1, 2, 3}).median, 2.5);
}

TEST(Point, JsonHasMachineModelAndPointsInOrder) {
  const MachineFacts machine{
      .cpu = "a cpu", .isa = "avx2", .threads = 2, .read_gb_s = 10, .fma_gflop_s = 50};
  EXPECT_EQ(to_json("width", machine, "a model", two_points()),
            R"({"mode":"width","machine":{"cpu":"a cpu","isa":"avx2","threads":2,"read_gb_s":10.0,)"
            R"("fma_gflop_s":50.0},"model":"a model","points":[)"
            R"({"rows":1,"ms":1.5,"min":0.5,"max":2.5,"bytes":123456789,"what":"cold"},)"
            R"({"rows":2,"ms":1.5,"min":0.5,"max":2.5,"bytes":123456789,"what":"cold"}]})");
}

TEST(Point, JsonOfNoModelIsNull) {
  EXPECT_NE(to_json("roofline", {}, "", {}).find(R"("model":null,"points":[])"), std::string::npos);
}

TEST(Point, CsvHasOneHeaderAndALineAPoint) {
  EXPECT_EQ(to_csv(two_points()),
            "rows,ms,min,max,bytes,what\n"
            "1,1.5,0.5,2.5,123456789,cold\n"
            "2,1.5,0.5,2.5,123456789,cold\n");
}

TEST(Point, TableAlignsColumnsAndShortensBytes) {
  EXPECT_EQ(to_table(two_points()),
            "rows   ms  min  max    bytes  what\n"
            "   1  1.5  0.5  2.5  123.5 M  cold\n"
            "   2  1.5  0.5  2.5  123.5 M  cold\n");
}

}  // namespace
}  // namespace spindrift::bench
