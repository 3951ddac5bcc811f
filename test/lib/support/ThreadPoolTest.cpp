#include "lib/support/ThreadPool.h"
#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

namespace accord {
namespace {

TEST(ThreadPool, EachOnce) {
  for (unsigned threads : {0u, 1u, 4u}) {
    ThreadPool pool(threads);
    for (size_t count : {0, 1, 2, 1000}) {
      std::atomic<size_t> sum = 0;
      pool.each(count, [&](size_t i) { sum += i + 1; });
      EXPECT_EQ(sum, count * (count + 1) / 2);
    }
  }
}

TEST(ThreadPool, WhatATaskThrowsIsThrown) {
  for (unsigned threads : {1u, 2u, 8u}) {
    ThreadPool pool(threads);
    for (size_t wrong : {size_t(0), size_t(7), size_t(99)}) {
      std::string said;
      try {
        pool.each(100, [&](size_t i) {
          if (i == wrong)
            throw std::runtime_error("task " + std::to_string(i));
        });
      } catch (const std::runtime_error &error) {
        said = error.what();
      }
      EXPECT_EQ(said, "task " + std::to_string(wrong));
      std::atomic<size_t> done = 0; // the next round knows nothing of it
      pool.each(100, [&](size_t) { ++done; });
      EXPECT_EQ(done, 100u);
    }
  }
}

TEST(ThreadPool, OneOfSeveralThatThrow) {
  ThreadPool pool(4);
  for (int round = 0; round < 100; ++round)
    EXPECT_THROW(pool.each(50, [](size_t i) { throw i; }), size_t);
}

} // namespace
} // namespace accord
