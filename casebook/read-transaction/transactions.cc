// Read transactions of a store that keeps several versions of its pages.
//
//   fresh   each transaction has lists of its own, which start empty
//   kept    a thread keeps its transaction's lists and empties them
//
// Usage: transactions fresh|kept NUMBER
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Page {
  uint64_t number, version;
  Page(uint64_t n, uint64_t v) : number(n), version(v) {}
};

struct Journal {
  std::vector<Page> pages;
  uint64_t first, last;
};

/* What a transaction must remember to see the store as it was when it was opened. */
struct Transaction {
  std::vector<Page> changed, scratch;
  std::vector<uint64_t> snapshots;
  void clear() {
    changed.clear();
    scratch.clear();
    snapshots.clear();
  }
};

__attribute__((noinline)) static void open_transaction(const std::vector<Journal> &journals, uint64_t now, Transaction &opened) {
  for (const Journal &journal : journals) {
    if (journal.first > now)
      continue;
    opened.snapshots.push_back(journal.last < now ? journal.last : now);
    for (const Page &page : journal.pages) {
      if (page.version > now)
        break;
      if (page.number % 2)
        opened.scratch.emplace_back(page);
      else
        opened.changed.emplace_back(page);
    }
  }
}

static uint64_t read(const Transaction &transaction, uint64_t now) {
  uint64_t sum = transaction.snapshots.back();
  sum += transaction.scratch[now % transaction.scratch.size()].number;
  return sum + transaction.changed[now % transaction.changed.size()].version;
}

int main(int, char **words) {
  bool keep = !std::strcmp(words[1], "kept");
  long number = std::atol(words[2]);
  std::vector<Journal> journals;
  for (uint64_t at = 0; at < 6; at++) {
    Journal journal{{}, at * 10, at * 10 + 9};
    for (uint64_t n = 0; n < 6; n++)
      journal.pages.emplace_back(at * 31 + n, at * 10 + n);
    journals.push_back(journal);
  }
  Transaction kept;
  uint64_t sum = 0;
  for (long n = 0; n < number; n++) {
    uint64_t now = 50 + n % 10;
    if (keep) {
      kept.clear();
      open_transaction(journals, now, kept);
      sum += read(kept, now);
    } else {
      Transaction fresh;
      open_transaction(journals, now, fresh);
      sum += read(fresh, now);
    }
  }
  std::printf("%ld transactions, check %lu\n", number, static_cast<unsigned long>(sum));
}
