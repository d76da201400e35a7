#include "tests/app/model/benches.h"

#include <gtest/gtest.h>
#include <thread>

namespace convscope::test {

Bench::Bench(const std::string& command) : bench_(EngineOptions{.command = command}, [] {}) {}

bool Bench::until(const std::function<bool()>& condition, double seconds) {
  for (Stopwatch watch; watch.seconds() < seconds;) {
    bench_.drain();
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  return false;
}

bool Bench::settle(double seconds) {
  return until([&] { return !bench_.runs().running() && bench_.link().waiting() == 0; }, seconds);
}

std::shared_ptr<const Report> Bench::run(const Document& d) {
  bench_.run(d);
  if (!until([&] { return !bench_.runs().running() && bench_.runs().report() && bench_.runs().report()->final; }))
    return nullptr;
  return bench_.runs().report()->document == d ? bench_.runs().report() : nullptr;
}

const MapTile* Bench::whole_tile(Pictures::Map map, Quantity quantity) {
  auto picture = bench_.runs().picture();
  if (!picture) return nullptr;
  bool came = until([&] {
    picture = bench_.runs().picture();
    TileWish w{picture->key,
               quantity,
               0,
               static_cast<double>(picture->rows()),
               0,
               static_cast<double>(picture->columns()),
               static_cast<int>(picture->columns()),
               static_cast<int>(picture->rows()),
               {}};
    bench_.pictures().want_tile(map, w);
    const MapTile* t = bench_.pictures().tile(map);
    return t && t->key == picture->key && t->quantity == quantity && t->width == w.width && t->height == w.height &&
           bench_.link().waiting() == 0;
  });
  return came ? bench_.pictures().tile(map) : nullptr;
}

}  // namespace convscope::test
