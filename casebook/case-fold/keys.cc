// Documents found by keys in which case does not count.
//
//   general   each key is converted by the conversion for all of Unicode
//   ascii     ASCII is converted here, the rest by the conversion for all of Unicode
//
// Usage: keys general|ascii LOOKS
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <string>
#include <vector>

using Key = std::wstring;

struct Store {
  std::locale locale;
  bool plain_ascii;
  std::vector<Key> keys;
  wchar_t ascii[128];
};

static void lower_general(const Store &store, Key &key) {
  std::use_facet<std::ctype<wchar_t>>(store.locale).tolower(&key[0], &key[0] + key.size());
}

static void lower_ascii(const Store &store, Key &key) {
  for (wchar_t &c : key) {
    if (static_cast<unsigned long>(c) >= 128)
      return lower_general(store, key);
    c = store.ascii[c];
  }
}

__attribute__((noinline)) static bool same_lowered(const Store &store, Key &scratch, const Key &asked, const Key &key) {
  scratch = asked;
  if (store.plain_ascii)
    lower_ascii(store, scratch);
  else
    lower_general(store, scratch);
  return scratch == key;
}

int main(int, char **words) {
  long looks = std::atol(words[2]), found = 0;
  const char *name = std::setlocale(LC_ALL, "C.UTF-8") ? "C.UTF-8" : "C";
  Store store{std::locale(name), !std::strcmp(words[1], "ascii"), {}, {}};
  for (wchar_t c = 0; c < 128; c++)
    store.ascii[c] = c >= L'A' && c <= L'Z' ? c + 32 : c;
  for (int n = 0; n < 64; n++)
    store.keys.push_back(L"orders/customers/" + std::to_wstring(n));
  Key scratch;
  std::vector<Key> asked;
  for (int n = 0; n < 64; n++)
    asked.push_back(L"Orders/Customers/" + std::to_wstring(n));
  for (long n = 0; n < looks; n++)
    found += same_lowered(store, scratch, asked[n % 64], store.keys[n % 63]);
  std::printf("%ld of %ld keys are the same\n", found, looks);
  return found == 0;
}
