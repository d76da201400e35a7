// What stands between the window and the engine: asks for what the window wants to see, and holds the answers as
// values.
//
// Composes the parts, each of which asks for one kind of thing and keeps what came of it, and holds the rules of who
// gives way to whom. Used by one thread (the window's).
#pragma once
#include <functional>
#include <memory>

#include "app/model/beside_output.h"
#include "app/model/causes.h"
#include "app/model/checks.h"
#include "app/model/engine_link.h"
#include "app/model/explaining.h"
#include "app/model/inventory.h"
#include "app/model/measuring.h"
#include "app/model/mending.h"
#include "app/model/opened_files.h"
#include "app/model/pictures.h"
#include "app/model/planning.h"
#include "app/model/recorded.h"
#include "app/model/runs.h"
#include "app/model/sources.h"
#include "app/model/sweeps.h"
#include "app/model/tunings.h"

namespace convscope {

class Workbench {
 public:
  Workbench(EngineOptions options, std::function<void()> wake);
  ~Workbench() { link_.close(), tunings_.close(); }  // no answer comes to parts that have gone
  Workbench(const Workbench&) = delete;

  bool drain();
  void run(const Document& document);  // the newest wins
  void cancel();                       // what runs, and what waits

  // ---- parts ------------------------------------------------------------------------------------------------------
  EngineLink& link() { return link_; }
  const EngineLink& link() const { return link_; }
  Inventory& inventory() { return inventory_; }
  const Inventory& inventory() const { return inventory_; }
  OpenedFiles& files() { return files_; }
  const OpenedFiles& files() const { return files_; }
  const Runs& runs() const { return runs_; }
  Pictures& pictures() { return pictures_; }
  const Pictures& pictures() const { return pictures_; }
  BesideOutput& beside() { return beside_; }
  const BesideOutput& beside() const { return beside_; }
  Causes& causes() { return causes_; }
  const Causes& causes() const { return causes_; }
  Mending& mending() { return mending_; }
  const Mending& mending() const { return mending_; }
  Explaining& explaining() { return explaining_; }
  const Explaining& explaining() const { return explaining_; }
  Measuring& measuring() { return measuring_; }
  const Measuring& measuring() const { return measuring_; }
  Checks& checks() { return checks_; }
  const Checks& checks() const { return checks_; }
  Sweeps& sweeps() { return sweeps_; }
  const Sweeps& sweeps() const { return sweeps_; }
  Tunings& tunings() { return tunings_; }
  const Tunings& tunings() const { return tunings_; }
  Sources& sources() { return sources_; }
  const Sources& sources() const { return sources_; }
  Planning& planning() { return planning_; }
  const Planning& planning() const { return planning_; }

  // ---- recordings -------------------------------------------------------------------------------------------------
  // While a recording is open, its figures are shown for the documents that it holds, until somebody wants to see what
  // runs now. Null closes it.
  void open_recording(std::shared_ptr<const Recording> recording);
  void show_live(bool live) { live_shown_ = live; }
  bool live_shown() const { return live_shown_; }
  const Recorded& recorded() const { return recorded_; }
  bool shows_recorded(const Document& document) const { return !live_shown_ && recorded_.holds(document); }
  // It is recorded, and running it here as well would take long: it runs when a person says so.
  bool rests_on_recording(const Document& document) const;
  // It is that, or all of the problem takes long on the emulator: nothing runs by itself then.
  bool waits_for_a_person(const Document& document) const;
  // What stands for this document: the recorded one, else the newest.
  const Report* report_of(const Document& document) const;
  const KernelComparison* comparison_of(const Document& document, const std::string& with) const;
  const Profile* profile_of(const Document& document) const;  // the newest of this document, or null

 private:
  void clear_the_way_for_a_run(bool again);
  void stop_for_new_text();
  void forget_file(const std::string& path);

  EngineLink link_;
  Inventory inventory_;
  OpenedFiles files_;
  Runs runs_;
  Pictures pictures_;
  BesideOutput beside_;
  Causes causes_;
  Mending mending_;
  Explaining explaining_;
  Measuring measuring_;
  Checks checks_;
  Recorded recorded_;
  bool live_shown_ = false;
  Sweeps sweeps_;
  Tunings tunings_;
  Sources sources_;
  Planning planning_;
};

}  // namespace convscope
