#include "app/ui/status_parts.h"

#include <algorithm>

namespace convscope::ui {

std::vector<StatusForm> fit_status(const std::vector<StatusWidths>& parts, float room) {
  std::vector<StatusForm> forms(parts.size(), StatusForm::whole);
  auto fits = [&] {
    float all = 0;
    for (size_t i = 0; i < parts.size(); i++)
      all += forms[i] == StatusForm::whole ? parts[i].whole : forms[i] == StatusForm::shorter ? parts[i].shorter : 0;
    return all <= room;
  };
  int last = 0;
  for (const auto& p : parts) last = std::max(last, p.goes);
  auto give_way = [&](int goes, StatusForm form) {
    for (size_t i = 0; i < parts.size(); i++)
      if (parts[i].goes == goes && !fits() && (form == StatusForm::gone || parts[i].shorter > 0)) forms[i] = form;
  };
  for (int goes = 1; goes <= last; goes++) give_way(goes, StatusForm::shorter);
  for (int goes = 1; goes <= last; goes++) give_way(goes, StatusForm::gone);
  give_way(0, StatusForm::shorter);
  return forms;
}

}  // namespace convscope::ui
