// The times of one kernel that several measurements took, named by the measurement: none of them is another's.
#pragma once
#include <string>

#include "app/model/comparison.h"
#include "app/model/profile.h"
#include "app/model/report.h"

namespace convscope {

// "Hot times of S4, each of a measurement of its own: 515 µs the run (17 samples), 501 µs the profile, …": those that
// are there, and how far they are apart. "" where there is one only. Each may be null; of a comparison its first kernel
// counts.
std::string times_in_words(const Report* run, const Profile* profile, const KernelComparison* comparison);

}  // namespace convscope
