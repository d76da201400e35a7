// Times and counters of one kernel: a profile, a comparison with another kernel, and one call again and again.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/model/comparison.h"
#include "app/model/engine_link.h"
#include "app/model/monitor.h"
#include "app/model/profile.h"
#include "app/model/runs.h"

namespace convscope {

// One measurement at a time: of profiles and comparisons the newest wins, and what goes on again and again gives way to
// them. A run goes before all of it: while one is made nothing is measured, and what is under way is given up.
class Measuring {
 public:
  Measuring(EngineLink& link, const Runs& runs) : link_(link), runs_(runs) {}

  // Counters and what limits it; full: all sets.
  void want_profile(const Document& document, bool full);
  // The same for a report that has come, once for each, by its serial.
  void follow(const Document& document, uint64_t serial) {
    if (serial == followed_) return;
    followed_ = serial;
    want_profile(document, false);
  }
  uint64_t followed() const { return followed_; }
  // The document's kernel and another, or a reference, timed in turn.
  void want_comparison(const Document& document, const std::string& with);
  void stop();  // a profile or a comparison

  // Again and again, one call and the live set of counters, until it is stopped; for another document it begins anew.
  // To be wished at every frame while it is on.
  void keep_on(const Document& document);
  void give_way();  // the call in hand is cancelled, and asked for again afterwards
  void stop_monitor();
  const Monitor& monitor() const { return monitor_; }

  // A file has another text: what is known of its kernels is of others.
  void forget_file(const std::string& path);

  // The newest profile, and those before it (the newest last, at most 12): the trail of the roofline.
  const Profile* profile() const { return trail_.empty() ? nullptr : trail_.back().get(); }
  const std::vector<std::shared_ptr<const Profile>>& trail() const { return trail_; }
  const Profile* profile_of(const Document& document) const;  // the newest of this document, or null
  const KernelComparison* comparison() const { return comparison_.get(); }
  bool waits() const { return waits_; }  // for a profile or a comparison
  const std::string& trouble() const { return trouble_; }

 private:
  void measure(const char* type, const Document& document, const nlohmann::json& more,
               std::function<void(const nlohmann::json&)> took);
  void measure_once_more();
  void take_reading(const nlohmann::json& answer);
  void forget_readings();

  EngineLink& link_;
  const Runs& runs_;
  std::vector<std::shared_ptr<const Profile>> trail_;
  std::shared_ptr<const KernelComparison> comparison_;
  std::string trouble_;
  uint64_t serial_ = 0, id_ = 0, followed_ = 0;
  bool waits_ = false;
  Monitor monitor_;
  uint64_t monitor_serial_ = 0, monitor_id_ = 0;
  bool monitor_waits_ = false;
  std::chrono::steady_clock::time_point monitor_began_;
};

}  // namespace convscope
