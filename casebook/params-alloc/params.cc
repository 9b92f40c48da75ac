// Counters whose names are joined from four parts.
//
//   any    by a function that takes any number of parts of any kind: an array and boxes for each call
//   four   by a function of four parameters
//
// Usage: params any|four CALLS
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

/* A box for a value of any kind. */
struct Part {
  const std::string *text;
  long number;
};

static Part *box(const std::string &text) { return new Part{&text, 0}; }
static Part *box(long number) { return new Part{nullptr, number}; }

__attribute__((noinline)) static void join(std::string &into, Part *const *parts, int count) {
  into.clear();
  for (int n = 0; n < count; n++) {
    if (n)
      into += '.';
    if (parts[n]->text)
      into += *parts[n]->text;
    else
      into += static_cast<char>('0' + parts[n]->number % 10);
  }
}

__attribute__((noinline)) static void join_four(std::string &into, const std::string &service, const std::string &host, long port, const std::string &counter) {
  into.clear();
  into += service;
  into += '.';
  into += host;
  into += '.';
  into += static_cast<char>('0' + port % 10);
  into += '.';
  into += counter;
}

/* What a compiler writes at a call with any number of arguments. */
__attribute__((noinline)) static void join_any(std::string &into, const std::string &service, const std::string &host, long port, const std::string &counter) {
  Part **parts = new Part *[4]{box(service), box(host), box(port), box(counter)};
  join(into, parts, 4);
  for (int n = 0; n < 4; n++)
    delete parts[n];
  delete[] parts;
}

int main(int, char **words) {
  bool variadic = !std::strcmp(words[1], "any");
  long calls = std::atol(words[2]), sum = 0;
  std::vector<std::string> services{"search", "index", "store", "front", "mail", "login", "queue"};
  std::vector<std::string> counters{"requests", "errors", "bytes", "retries", "hits"};
  std::string name, host = "localhost";
  for (long n = 0; n < calls; n++) {
    const std::string &service = services[n % 7], &counter = counters[n % 5];
    if (variadic)
      join_any(name, service, host, n % 1000, counter);
    else
      join_four(name, service, host, n % 1000, counter);
    sum += name.size();
  }
  std::printf("%ld names, check %ld\n", calls, sum);
}
