// Fences of kernels are where loads need them, and nowhere else: against every pair of executed loads and stores.
#include "lib/microarchitecture/mapping/OrderMemory.h"
#include "lib/support/SplitMix.h"
#include "gtest/gtest.h"

namespace accord::microarchitecture {
namespace {

/// A step as it is executed: addresses from `low` on, in which stretch between fences, and its number.
struct Executed {
  bool isStore = false;
  int64_t low = 0, columns = 0, stretch = 0, number = 0;
};

class Execution {
public:
  explicit Execution(const LoopKernel &kernel) : kernel(kernel), iteration(kernel.loops.size(), 0) { run(kernel.body); }
  std::vector<Executed> all;

private:
  void run(const KernelBody &body) {
    for (const KernelStep &step : body)
      if (step.isFence()) {
        ++stretch;
      } else if (step.loop == kNone) {
        Executed is{step.role.does == Role::Store, step.access.offset, step.access.columns, stretch, number++};
        for (auto [loop, stride] : step.access.strides)
          is.low += stride * iteration[loop];
        all.push_back(is);
      } else {
        for (iteration[step.loop] = 0; iteration[step.loop] < kernel.loops[step.loop].count; ++iteration[step.loop])
          run(kernel.loops[step.loop].body);
      }
  }

  const LoopKernel &kernel;
  std::vector<int64_t> iteration;
  int64_t stretch = 0, number = 0;
};

/// Whether some load may come before a store that it needs.
bool isWrong(const LoopKernel &kernel, int64_t window) {
  const std::vector<Executed> all = Execution(kernel).all;
  for (size_t load = 0; load < all.size(); ++load)
    for (size_t back = 1; back <= load && all[load].number - all[load - back].number < window; ++back)
      if (const Executed &store = all[load - back];
          !all[load].isStore && store.isStore && all[load].stretch == store.stretch &&
          all[load].low < store.low + store.columns && store.low < all[load].low + all[load].columns)
        return true;
  return false;
}

size_t fencesOf(const LoopKernel &kernel) {
  auto in = [](const KernelBody &body) {
    return std::count_if(body.begin(), body.end(), [](auto &s) { return s.isFence(); });
  };
  int64_t all = in(kernel.body);
  for (const KernelLoop &loop : kernel.loops)
    all += in(loop.body);
  return size_t(all);
}

class Drawing {
public:
  explicit Drawing(uint64_t seed) : random(seed) { kernel.name = "drawn", kernel.tensors = {{"t", 4096}}; }
  int64_t draw(int64_t low, int64_t high) { return low + int64_t(random.below(uint64_t(high - low + 1))); }

  /// At most three loops in each other. Mostly the strides are those of a matrix.
  LoopKernel made() {
    kernel.body = body(0);
    return kernel;
  }

private:
  KernelBody body(int depth) {
    KernelBody made;
    for (int64_t steps = draw(1, 3); steps > 0; --steps) {
      KernelStep step;
      if (depth < 3 && draw(0, 1) == 0) {
        const Index loop = Index(kernel.loops.size());
        kernel.loops.push_back({"l", draw(0, 9) == 0 ? draw(0, 1) : draw(2, 5), {}});
        around.push_back(loop);
        KernelBody inside = body(depth + 1);
        around.pop_back();
        kernel.loops[loop].body = std::move(inside), step.loop = loop;
      } else {
        step.role.does = draw(0, 1) == 0 ? Role::Store : Role::Load;
        step.access.tensor = 0, step.access.offset = draw(0, 3) * draw(0, 6), step.access.columns = draw(1, 3);
        for (Index loop : around)
          if (int64_t stride = draw(0, 3) == 0 ? draw(-4, 4) : draw(0, 2) * (int64_t(1) << (2 * draw(0, 2))))
            step.access.strides.push_back({loop, stride});
      }
      made.push_back(std::move(step));
    }
    return made;
  }

  SplitMix random;
  LoopKernel kernel;
  std::vector<Index> around;
};

TEST(OrderMemory, AgainstEveryPair) {
  int64_t fenced = 0, needed = 0, without = 0, surplus = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Drawing drawing(seed);
    LoopKernel kernel = drawing.made();
    const int64_t window = drawing.draw(0, 2) == 0 ? drawing.draw(1, 8) : 1 << 20;
    const bool wasWrong = isWrong(kernel, window);
    orderMemory(kernel, window, [](const KernelStep &) { return false; });
    ASSERT_FALSE(isWrong(kernel, window)) << seed;
    // Hardly a kernel that needs no fence has one, and hardly a fence is there without which all is in order, too.
    without += !wasWrong, surplus += !wasWrong && fencesOf(kernel) > 0;
    std::vector<KernelBody *> bodies{&kernel.body};
    for (KernelLoop &loop : kernel.loops)
      bodies.push_back(&loop.body);
    for (KernelBody *body : bodies)
      for (size_t s = 0; s < body->size(); ++s)
        if ((*body)[s].isFence()) {
          const KernelBody whole = *body;
          body->erase(body->begin() + int64_t(s));
          ++fenced, needed += isWrong(kernel, window);
          *body = whole;
        }
  }
  RecordProperty("surplus", std::to_string(surplus));
  EXPECT_GT(without, 1000);
  EXPECT_GT(fenced, 1000);
  EXPECT_GT(double(needed), 0.9 * double(fenced)) << needed << " of " << fenced;
  EXPECT_LT(double(surplus), 0.05 * double(without)) << surplus << " of " << without;
}

KernelStep access(Role role, int64_t offset, std::vector<std::pair<Index, int64_t>> strides) {
  KernelStep made;
  made.role.does = role;
  made.access.tensor = 0, made.access.offset = offset, made.access.strides = std::move(strides);
  return made;
}
KernelStep loop(Index number) {
  KernelStep made;
  made.loop = number;
  return made;
}

/// Sums that leave to memory in each of 2^20 iterations of k: in order where 10^6 others lie between, with a fence in
/// each iteration of k where only a few do.
TEST(OrderMemory, PartialResults) {
  for (int64_t columns : {8, 1'000'000}) {
    LoopKernel kernel;
    kernel.tensors = {{"sums", 8'000'000}};
    kernel.loops = {{"k", 1 << 20, {loop(1)}},
                    {"m", 8, {loop(2)}},
                    {"n",
                     columns,
                     {access(Role::Load, 0, {{1, columns}, {2, 1}}), access(Role::Store, 0, {{1, columns}, {2, 1}})}}};
    kernel.body = {loop(0)};
    orderMemory(kernel, 256, [](const KernelStep &) { return false; });
    EXPECT_EQ(kernel.loops[0].body.size(), columns == 8 ? 2u : 1u);
    EXPECT_EQ(kernel.loops[0].body.front().isFence(), columns == 8);
    EXPECT_EQ(kernel.loops[1].body.size(), 1u);
    EXPECT_EQ(kernel.loops[2].body.size(), 2u);
  }
}

/// Tokens order a store and a load that both have them.
TEST(OrderMemory, Tokens) {
  for (bool hasTokens : {false, true}) {
    LoopKernel kernel;
    kernel.tensors = {{"t", 8}};
    kernel.body = {access(Role::Store, 0, {}), access(Role::Load, 0, {})};
    orderMemory(kernel, 8, [&](const KernelStep &) { return hasTokens; });
    EXPECT_EQ(kernel.body.size(), hasTokens ? 2u : 3u);
  }
}

} // namespace
} // namespace accord::microarchitecture
