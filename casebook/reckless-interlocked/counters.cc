// A program that looks a performance counter up for each event. Counters are switched off.
//
//   counters reckless N   tries to mark the counter as used, then asks whether counters are on
//   counters careful N    asks first
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

// What is counted does not share a cache line with the mark.
struct Counter {
  std::atomic<uint32_t> used{0};
  alignas(64) std::atomic<uint64_t> value{0};
};

static Counter counters[16];
static std::atomic<bool> enabled{false};

// True for the first one that asks.
static inline bool mark(Counter &counter) {
  uint32_t unused = 0;
  return counter.used.compare_exchange_strong(unused, 1);
}

__attribute__((noinline)) static void register_counter(Counter &counter) { counter.value = 1; }

__attribute__((noinline)) static Counter &look_up_reckless(unsigned name) {
  Counter &counter = counters[name % 16];
  if (mark(counter) && enabled.load(std::memory_order_relaxed))
    register_counter(counter);
  return counter;
}

__attribute__((noinline)) static Counter &look_up_careful(unsigned name) {
  Counter &counter = counters[name % 16];
  if (enabled.load(std::memory_order_relaxed) && mark(counter))
    register_counter(counter);
  return counter;
}

template <Counter &look_up(unsigned)> static void handle(uint64_t events, uint64_t *seen) {
  uint64_t sum = 0;
  for (uint64_t n = 0; n < events; n++)
    sum += look_up(n % 4096 == 0 ? 1 : 0).value.load(std::memory_order_relaxed) + 1;
  *seen = sum;
}

int main(int count, char **words) {
  if (count != 3)
    return 2;
  bool reckless = std::strcmp(words[1], "reckless") == 0;
  uint64_t events = std::strtoull(words[2], nullptr, 10);
  unsigned width = 2;
  std::vector<uint64_t> seen(width);
  std::vector<std::thread> threads;
  for (auto &own : seen)
    threads.emplace_back(reckless ? handle<look_up_reckless> : handle<look_up_careful>, events, &own);
  for (auto &thread : threads)
    thread.join();
  for (auto own : seen)
    if (own != events)
      return 1;
  std::printf("%llu events on %u threads\n", static_cast<unsigned long long>(events), width);
}
