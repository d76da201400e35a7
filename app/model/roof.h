// A roofline as plain values: what a GPU allows for a document, and where its kernel, the references and earlier
// profiles stand below that (Williams, Waterman & Patterson, "Roofline", 2009).
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/model/document.h"
#include "app/model/profile.h"
#include "app/model/report.h"
#include "app/model/workbench.h"

namespace convscope {

// The ceilings. Rates are 0 where they are not known.
struct Roof {
  std::string gpu, source;
  double memory_gbs = 0, l2_gbs = 0, shared_gbs = 0;
  std::vector<std::string> facts;  // how each was measured, by its name: "l2_gbs: loads of 16 MiB past the L1 cache"
  struct Flat {
    std::string name;  // "TF32 tensor cores"
    double gflops = 0;
    bool allowed = false;  // what the document's accuracy may use at most
  };
  std::vector<Flat> flats;  // from the lowest

  bool known() const { return memory_gbs > 0 && !flats.empty(); }
  double peak() const;                   // of what is allowed
  double peak(Accuracy promised) const;  // of what arithmetic of this accuracy may use; peak() where that is not known
  std::array<double, 3> by_accuracy{};   // GFLOP/s of f32 arithmetic, in the order of Accuracy
  double allowed(double intensity) const;  // GFLOP/s at so many operations a byte of the GPU's memory
  bool by_bytes(double intensity) const { return intensity * memory_gbs < peak(); }
  std::string how(const std::string& ceiling) const;  // of "memory_gbs", …; "": not told
};
// Of ceilings that were measured, and by the data sheet of a GPU, by the driver's name of it. Not known() where they
// are not there.
Roof roof_of(const ProfileCeilings& ceilings, const Document& document);
Roof datasheet_roof(const std::string& gpu, const Document& document);
// Those that were measured where the report is from, else the datasheet of its GPU, else that of another, named as
// such.
Roof roof_of(const Workbench& bench, const Document& document, const Report& report);

struct RoofPoint {
  enum class Of { kernel, reference, other, earlier };  // other: of the same recording
  enum class Bytes { least, dram, l2 };                 // that the intensity counts
  Of of = Of::kernel;
  Bytes bytes = Bytes::least;
  bool cold = false;     // timed with the L2 cache flushed
  std::string name;      // of the kernel
  double intensity = 0;  // operations a byte
  double gflops = 0, ms = 0;
  std::string source;                    // of the time, and of the bytes where they were counted
  std::optional<bool> packs;             // the time is of a whole plan, which packs weights as well; empty: nobody said
  Accuracy promised = Accuracy::strict;  // what it computes with: its own roof may be lower than the document's
  bool looser = false;  // it may use arithmetic that the document's accuracy does not allow: no share of this roof
};
// "hot, least bytes", "cold, least bytes, packing included", "hot, bytes of DRAM"
std::string place_words(const RoofPoint& p);
// The accuracy of a kernel's or a reference's arithmetic; a reference says it by its name.
Accuracy promised_by(const Workbench& bench, const std::string& name);
// Whether it may use arithmetic that is not accurate enough for the document.
bool is_looser(const Workbench& bench, const Document& document, const std::string& name);
// The floor of a reference, in ms, where its arithmetic is another than the report's, whose floor is not its own; else
// nothing, and where the roof or the rate of that arithmetic is not known.
std::optional<double> own_floor(const Workbench& bench, const Roof& roof, const Report& report,
                                const std::string& name);
// What of the ceiling that belongs to its bytes, and to its own arithmetic, a point reaches; nothing where that ceiling
// is not known, and of looser arithmetic.
std::optional<double> reached(const Roof& roof, const RoofPoint& p);

struct RoofPoints {
  std::vector<RoofPoint> points;
  std::optional<size_t> own;                      // the kernel, hot, by its least bytes
  std::vector<std::pair<size_t, size_t>> joined;  // the same run with other bytes
  // Earlier profiles of this problem by kernels of the same kind, in order, this one among them; in a recording the
  // rungs of the ladder. By the bytes that moved where all have them, else by the least.
  std::vector<size_t> trail;
  std::string trail_words;           // what the trail joins
  std::vector<std::string> missing;  // what is not there, and why
};
RoofPoints roof_points(const Workbench& bench, const Document& document, const Report& report);

}  // namespace convscope
