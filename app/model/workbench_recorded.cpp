// What is recorded and what runs here: which of both is shown, and what runs only when a person says so.
#include <nlohmann/json.hpp>
#include <utility>

#include "app/model/workbench.h"
#include "kernels/problem/counts.h"

namespace convscope {
using nlohmann::json;

void Workbench::open_recording(std::shared_ptr<const Recording> recording) {
  recorded_.open(std::move(recording));
  live_shown_ = false;
}

bool Workbench::runs_on_a_gpu(const Document& document) const {
  bool gpu = false;
  if (auto devices = info_->find("devices"); devices != info_->end() && devices->is_array())
    for (const auto& d : *devices) gpu |= d.is_object() && d.value("kind", json()) == "cuda";
  return gpu && document.device != "emulator";
}

bool Workbench::knows_devices() const { return info_->contains("devices"); }

bool Workbench::rests_on_recording(const Document& document) const {
  if (!shows_recorded(document)) return false;
  // The emulator does some 10^9 operations a second.
  const double at_once = runs_on_a_gpu(document) ? 1e12 : 1e9;
  return flops(document.problem) > at_once;
}

bool Workbench::waits_for_a_person(const Document& document) const {
  constexpr double at_once = 4e9;  // eight seconds of the emulator on two cores, with all that a verdict needs
  return rests_on_recording(document) || (!runs_on_a_gpu(document) && flops(document.problem) > at_once);
}

const Profile* Workbench::profile_of(const Document& document) const {
  if (!live_shown_)
    if (const Profile* p = recorded_.profile(document)) return p;
  for (auto p = trail_.rbegin(); p != trail_.rend(); ++p)
    if (!needs_run((*p)->document, document)) return p->get();
  return nullptr;
}

}  // namespace convscope
