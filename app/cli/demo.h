// The guided tour: every kernel on problems that suit the device, as a table and as a report with pictures.
#pragma once
#include <string>
#include <vector>

#include "app/cli/kernel_case.h"

namespace convscope {

// One self-contained HTML file.
std::string demo_html(const std::vector<KernelCase>& cases, const std::string& device, bool emulated, double seconds,
                      bool interrupted);

}  // namespace convscope
