// The start of a service that knows devices by their user agents.
//
//   main ──start──> loader thread: source text ──parse──> table ──write──> FOLDER/devices.index
//     │                                                     ▲
//     └──waits for the table          a later start finds ──┘ FOLDER/devices.index and reads that
//
// A reporter thread sleeps all along: nobody waits for it, so it costs nothing. Usage: startup
// FOLDER, where FOLDER holds what an earlier start has left, or `fresh` for a new one at each start.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using Devices = std::map<std::string, std::vector<std::string>>;

static const int DEVICES = 240000;

// What a vendor delivers: one device a line, its properties in words.
static std::string source_line(int n) {
  std::string line = "Mozilla/5.0 (Model-" + std::to_string(n * 7919L % 1000003) + ")";
  for (int property = 0; property < 12; property++)
    line += "|property" + std::to_string(property) + "=" + std::to_string((n + property) % 97);
  return line;
}

__attribute__((noinline)) static Devices parse_devices() {
  Devices devices;
  for (int n = 0; n < DEVICES; n++) {
    const std::string line = source_line(n);
    std::vector<std::string> properties;
    for (size_t from = 0, bar; from <= line.size(); from = bar + 1) {
      bar = std::min(line.find('|', from), line.size());
      properties.push_back(line.substr(from, bar - from));
    }
    std::string agent = properties.front();
    devices.emplace(std::move(agent), std::move(properties));
  }
  return devices;
}

__attribute__((noinline)) static void write_index(const Devices &devices, const fs::path &path) {
  std::ofstream index(path);
  for (const auto &device : devices)
    index << device.first << '\n';
}

__attribute__((noinline)) static size_t load_devices(const fs::path &folder) {
  const fs::path path = folder / "devices.index";
  std::ifstream kept(path);
  if (kept) {
    size_t known = 0;
    for (std::string agent; std::getline(kept, agent);)
      known++;
    return known;
  }
  const Devices devices = parse_devices();
  write_index(devices, path);
  return devices.size();
}

int main(int argc, char **argv) {
  const std::string wanted = argc > 1 ? argv[1] : "fresh";
  const bool fresh = wanted == "fresh";
  char name[] = "devices.XXXXXX";
  const fs::path folder = fresh ? fs::path(mkdtemp(name)) : fs::path(wanted);
  fs::create_directories(folder);

  std::thread([] {
    for (;;)
      std::this_thread::sleep_for(std::chrono::seconds(60)); // reports once a minute
  }).detach();
  std::promise<size_t> loaded;
  std::future<size_t> devices = loaded.get_future();
  std::thread loader([&] { loaded.set_value(load_devices(folder)); });
  const size_t known = devices.get();
  loader.join();
  std::printf("ready, %zu devices known\n", known);
  if (fresh)
    fs::remove_all(folder);
  return known == DEVICES ? 0 : 1;
}
