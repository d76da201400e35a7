// A test on a GPU of fakes, with its references; skipped where the build has no GPU side.
#pragma once
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/reference/reference.h"
#include "kernels/runtime/device.h"
#include "tests/fakes/setting.h"

namespace convscope::test {

class OnFakeGpu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("CONVSCOPE_LIBCUDA", (fakes_folder() + "/libfake_cuda.so").c_str(), 1);
    setenv("CONVSCOPE_LIBCUDNN", "/nowhere/libcudnn.so.9", 1);
  }
  void SetUp() override {
    try {
      device_ = open_cuda(0);
    } catch (const MissingError& e) {
      GTEST_SKIP() << e.what();  // a build without the toolkit
    }
    references_ = references_for(*device_);
  }
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Reference>> references_;
};

}  // namespace convscope::test
