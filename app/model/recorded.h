// A recording as the window's panels see it: reports, profiles and comparisons like those of an engine, each marked
// with where and when it was recorded.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/recording.h"
#include "app/model/comparison.h"
#include "app/model/document.h"
#include "app/model/profile.h"
#include "app/model/report.h"

namespace convscope {

// A time, and with it a place in a roofline: a kernel of the recording, or a reference.
struct RecordedPoint {
  std::string kernel, kind;                  // kernel, reference
  double ms = 0, intensity = 0, gflops = 0;  // hot; by the least bytes
  std::optional<double> dram_intensity;      // by the bytes of DRAM, where a profile counted them
  std::optional<bool> packs;  // the time is of a whole plan, which packs weights as well; empty: not kept
  std::string of;             // "the run of 2026-11-24": a kernel has several times, this is the newest
};

// The names of the recordings that came with the program and hold samples of warps: read once, on a thread of its own.
// Null while that goes on.
const std::vector<std::string>* recordings_with_samples();

// Used by one thread. What is asked for is read out of the recording once.
class Recorded {
 public:
  void open(std::shared_ptr<const Recording> recording);
  void close();
  bool is_open() const { return recording_ != nullptr; }
  // A kernel's file holds something else: what was recorded of it may be of another text now, or of this one again.
  void texts_changed();
  const std::shared_ptr<const Recording>& recording() const { return recording_; }
  std::string source() const { return recording_ ? recording_->source() : ""; }

  // Null where the recording holds nothing for this document (needs_run() says which fields count, but for the device).
  const Report* report(const Document& document) const;
  const Profile* profile(const Document& document) const;
  // Of the document's kernel and another one, from samples that were taken in turn.
  const KernelComparison* comparison(const Document& document, const std::string& with) const;
  // All that was timed on this document's problem and inputs, at whatever accuracy.
  const std::vector<RecordedPoint>& points(const Document& document) const;
  // Of its GPU: the highest that were measured with its profiles, since nothing is below a floor; null: none were.
  const ProfileCeilings* ceilings() const;
  bool holds(const Document& document) const { return report(document) || profile(document); }
  // Kernels and references with something recorded on this document's problem and inputs, at whatever accuracy.
  bool holds_kernel(const Document& document, const std::string& kernel) const;

  // The document with the accuracy at which its kernel was recorded, when it was not recorded at its own.
  Document nearest(const Document& document) const;
  // The document of the recording that is nearest to this one: with its kernel if that was recorded, else its first.
  std::optional<Document> way_back(const Document& document) const;

 private:
  const RecordedAnswer* find(const char* type, const Document& document) const;
  std::shared_ptr<const Recording> recording_;
  mutable std::map<const RecordedAnswer*, std::unique_ptr<Report>> reports_;
  mutable std::map<const RecordedAnswer*, std::unique_ptr<Profile>> profiles_;
  mutable std::map<std::pair<const RecordedAnswer*, std::string>, std::unique_ptr<KernelComparison>> comparisons_;
  mutable std::vector<RecordedPoint> points_;
  mutable std::optional<Document> points_of_;
  mutable std::optional<ProfileCeilings> ceilings_;
  // The last document that was looked for: panels ask the same many times a frame.
  struct Seen {
    Document document;
    const RecordedAnswer* answer = nullptr;
  };
  mutable std::map<std::string, Seen> seen_;
};

}  // namespace convscope
