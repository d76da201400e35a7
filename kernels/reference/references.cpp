// Which references a device has, and what is said where the build had no header for one.
#include "kernels/base/error.h"
#include "kernels/reference/cudnn.h"
#include "kernels/reference/onednn.h"

namespace convscope {
namespace {

class NotBuilt final : public Reference {
 public:
  NotBuilt(std::string name, std::string library, std::string how, bool tf32 = false)
      : name_(std::move(name)), library_(std::move(library)), how_(std::move(how)), tf32_(tf32) {}

  std::string name() const override { return name_; }
  std::string idea() const override { return library_ + "'s transposed convolution"; }
  std::string version() const override { return ""; }
  std::string unavailable() const override { return what() + "; " + how_; }
  std::string unsupported(const ConvProblem&) const override { return unavailable(); }
  bool may_use_tf32() const override { return tf32_; }
  void run(const ConvProblem&, const Bindings&, Activity*) override { throw MissingError(what(), how_); }
  Timing time(const ConvProblem&, const Bindings&, bool, const TimingOptions&, Activity*) override {
    throw MissingError(what(), how_);
  }

 private:
  std::string what() const { return "this build has no " + library_ + ": its header was not found when it was built"; }
  std::string name_, library_, how_;
  bool tf32_;
};

}  // namespace

#ifndef CONVSCOPE_HAVE_ONEDNN
std::unique_ptr<Reference> make_onednn() {
  return std::make_unique<NotBuilt>("onednn", "oneDNN",
                                    "install oneDNN 2 (Debian and Ubuntu: libdnnl-dev) and build again");
}
#endif

#ifndef CONVSCOPE_HAVE_CUDNN
std::unique_ptr<Reference> make_cudnn(Device&, bool tf32) {
  return std::make_unique<NotBuilt>(tf32 ? "cudnn-tf32" : "cudnn", "cuDNN",
                                    "install the CUDA Toolkit 13 and cuDNN 9 with their headers and build again", tf32);
}
#endif

std::vector<std::unique_ptr<Reference>> references_for(Device& device) {
  std::vector<std::unique_ptr<Reference>> list;
  if (device.is_emulator()) {
    list.push_back(make_onednn());
  } else {
    list.push_back(make_cudnn(device, false));
    list.push_back(make_cudnn(device, true));
  }
  return list;
}

}  // namespace convscope
