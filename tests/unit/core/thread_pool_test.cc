#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace spindrift {
namespace {

TEST(ForCells, CoversEveryCellOnceForAnyThreadCount) {
  for (int threads = 1; threads <= 5; ++threads) {
    ThreadPool pool(threads);
    const Exec ex{.pool = &pool};
    for (int64_t cells : {0, 1, 2, 3, 7, 64, 1001}) {
      std::vector<int> visits(static_cast<size_t>(cells), 0);
      for_cells(ex, cells, [&](int64_t first, int64_t last) {
        for (int64_t c = first; c < last; ++c) ++visits[static_cast<size_t>(c)];
      });
      for (int count : visits) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, RunsManyShortJobsInOrder) {
  ThreadPool pool(3);
  const Exec ex{.pool = &pool};
  std::vector<int64_t> sums(3000, 0);
  for (int64_t round = 1; round <= 200; ++round)
    for_cells(ex, 3000, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        int64_t& sum = sums[static_cast<size_t>(c)];
        sum = (sum * 3 + round) % 1000003;
      }
    });
  for (int64_t sum : sums) EXPECT_EQ(sum, sums.front());
}

TEST(ThreadPool, WritesOfAJobAreSeenAfterItByTheCallerAndByTheNextJob) {
  ThreadPool pool(4);
  const Exec ex{.pool = &pool};
  std::vector<int64_t> from(257), to(257);
  for (int64_t round = 0; round < 2000; ++round) {
    for_cells(ex, 257, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) from[static_cast<size_t>(c)] = round + c;
    });
    for_cells(ex, 257, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c)
        to[static_cast<size_t>(c)] = from[static_cast<size_t>(256 - c)];
    });
    for (int64_t c = 0; c < 257; ++c) ASSERT_EQ(to[static_cast<size_t>(c)], round + 256 - c);
  }
}

}  // namespace
}  // namespace spindrift
