#include "app/model/workbench.h"

#include <utility>

#include "app/engine/kernel_file.h"
#include "app/model/floor.h"
#include "kernels/problem/counts.h"

namespace convscope {

Workbench::Workbench(EngineOptions options, std::function<void()> wake)
    : link_(options, wake),
      inventory_(link_),
      files_(link_, inventory_),
      runs_(link_, files_),
      pictures_(link_, runs_),
      beside_(link_, runs_, inventory_),
      causes_(link_, runs_, inventory_),
      mending_(link_),
      explaining_(link_),
      measuring_(link_, runs_),
      checks_(link_, files_),
      sweeps_(link_, recorded_, measuring_,
              [this](const Document& d, const std::string& gpu) -> std::optional<Sweep::Floored> {
                const auto floor = floor_under(known_roof(*this, d, gpu, false), d.problem);
                return floor ? std::optional(Sweep::Floored{floor->ms, floor->words}) : std::nullopt;
              }),
      tunings_(std::move(options), std::move(wake)),
      sources_(link_),
      planning_(link_) {
  runs_.tell({.begins = [this](bool again) { clear_the_way_for_a_run(again); },
              .verdict = [this](const Report& report) { causes_.want(report); }});
  files_.tell({.text =
                   [this](const std::string& path) {
                     if (file_of_kernel(runs_.wanted().kernel) == path) stop_for_new_text();
                     recorded_.texts_changed();
                   },
               .answer = [this](const std::string&) { sources_.go_on(); },
               .kernel =
                   [this](const std::string& path, bool again) {
                     if (!again) forget_file(path);
                     causes_.trust_again(path);
                   }});
  inventory_.ask();
}

bool Workbench::drain() {
  const bool any = link_.drain();
  return tunings_.drain() || any;
}

// ---- who gives way to whom ------------------------------------------------------------------------------------------
// Beside these rules: the newest of a kind takes the place of the one before it (the slots of EngineLink), a
// measurement is not begun while a run is made, and one that goes on again and again gives way to a single one
// (Measuring).

void Workbench::run(const Document& document) {
  if (!runs_.begin(document)) cancel();
}

// A run goes before what measures, which needs the machine to itself, and before what is asked of the run before it.
void Workbench::clear_the_way_for_a_run(bool again) {
  measuring_.stop();
  measuring_.give_way();
  // What is made again stands behind the question that its engine died of.
  if (!again) causes_.stop();
  mending_.stop();
  beside_.stop();
}

// What is done with the text before: the compiler would wait for it.
void Workbench::stop_for_new_text() {
  runs_.stop_for_new_text();
  measuring_.stop();
  causes_.stop();
  mending_.stop();
  sources_.stop_for_new_text();
  measuring_.give_way();
}

// What is known of the text before it is of another kernel.
void Workbench::forget_file(const std::string& path) {
  sources_.forget_file(path);
  measuring_.forget_file(path);
  checks_.forget_file(path);
  sweeps_.forget_file(path);
  tunings_.forget_file(path);
}

// All that takes long; what goes on again and again goes on. What a search for a faster form has by then is kept, until
// it is asked a second time.
void Workbench::cancel() {
  if (tunings_.now().ending)
    tunings_.stop();
  else
    tunings_.enough();
  runs_.cancel();
  measuring_.stop();
  checks_.stop();
  sweeps_.stop();
  mending_.stop();
  causes_.stop();
  beside_.cancel();
  explaining_.stop();
}

// ---- what is recorded and what runs here ----------------------------------------------------------------------------

void Workbench::open_recording(std::shared_ptr<const Recording> recording) {
  recorded_.open(std::move(recording));
  live_shown_ = false;
}

bool Workbench::rests_on_recording(const Document& document) const {
  if (!shows_recorded(document)) return false;
  // The emulator does some 10^9 operations a second.
  const double at_once = inventory_.runs_on_a_gpu(document) ? 1e12 : 1e9;
  return flops(document.problem) > at_once;
}

bool Workbench::waits_for_a_person(const Document& document) const {
  constexpr double at_once = 4e9;  // eight seconds of the emulator on two cores, with all that a verdict needs
  return rests_on_recording(document) || (!inventory_.runs_on_a_gpu(document) && flops(document.problem) > at_once);
}

const Report* Workbench::report_of(const Document& document) const {
  const Report* r = live_shown_ ? nullptr : recorded_.report(document);
  return r ? r : runs_.report().get();
}

const KernelComparison* Workbench::comparison_of(const Document& document, const std::string& with) const {
  const KernelComparison* c = live_shown_ ? nullptr : recorded_.comparison(document, with);
  return c ? c : measuring_.comparison();
}

const Profile* Workbench::profile_of(const Document& document) const {
  if (!live_shown_)
    if (const Profile* p = recorded_.profile(document)) return p;
  return measuring_.profile_of(document);
}

}  // namespace convscope
