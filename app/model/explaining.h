// How one element of the output comes about: by the definition, by what the kernel takes for it, and by who wrote it.
#pragma once
#include <memory>
#include <string>

#include "app/model/engine_link.h"
#include "app/model/report.h"

namespace convscope {

// The newest element wins; nobody else gives way.
class Explaining {
 public:
  explicit Explaining(EngineLink& link) : link_(link) {}

  void want(const Document& document, int64_t n, int64_t co, int64_t j);
  void stop();

  const Explained* explained() const { return explained_.get(); }
  const Traced* traced() const { return traced_.get(); }
  const std::string& trouble() const { return trouble_; }
  bool waits() const { return waits_; }

 private:
  EngineLink& link_;
  std::shared_ptr<const Explained> explained_;
  std::shared_ptr<const Traced> traced_;
  std::string trouble_;
  uint64_t serial_ = 0, explain_id_ = 0, trace_id_ = 0;
  bool waits_ = false;
};

}  // namespace convscope
