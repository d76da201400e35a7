// Whatever bytes a session file holds: an InputError, or a legal document.
#include <gtest/gtest.h>

#include "tests/app/model/documents.h"
#include "tests/app/model/sessions.h"

namespace convscope {
namespace {

class SessionFuzz : public testing::Test {
 protected:
  void SetUp() override {
    save_session(folder_.path("s.convscope"), test::unusual_session(folder_));
    valid_ = test::text_of(folder_.path("s.convscope"));
  }
  void try_text(const std::string& text) {
    // Another file each time: replacing one waits for the disk.
    std::string file = folder_.write(std::to_string(taken_ + refused_) + ".convscope", text.data(), text.size());
    try {
      SessionFile s = load_session(file);
      ASSERT_EQ(test::why_illegal(s.document), "") << text;
      taken_++;
      // What was taken can be shown and saved.
      Extent e{static_cast<double>(s.document.problem.batch * s.document.problem.out_channels),
               static_cast<double>(s.document.problem.out_length())};
      View v = fitted(s.view, e);
      ASSERT_TRUE(v.row0 >= 0 && v.row1 > v.row0 && v.row1 <= e.rows + 1e-6) << text;
      if (taken_ % 50 != 1) return;  // this does, too
      save_session(folder_.path("t.convscope"), s);
      ASSERT_EQ(load_session(folder_.path("t.convscope")).document.problem, s.document.problem);
    } catch (const InputError& e) {
      refused_++;
      ASSERT_STRNE(e.what(), "");
    }
  }

  test::ScratchFolder folder_;
  std::string valid_;
  int taken_ = 0, refused_ = 0;
};

TEST_F(SessionFuzz, EveryTruncation) {
  for (size_t n = 0; n < valid_.size(); n++) ASSERT_NO_FATAL_FAILURE(try_text(valid_.substr(0, n)));
  EXPECT_EQ(taken_, 1) << "only the last line's end can be missing";
}

TEST_F(SessionFuzz, TwoThousandFlippedBytes) {
  test::Random r(6);
  for (int i = 0; i < 2000; i++) {
    std::string text = valid_;
    for (int64_t n = test::between(r, 1, 3); n > 0; n--) {
      char& c = text[r() % text.size()];
      // Digits become other digits, too: then it is often still a session.
      if (r() % 2 && std::isdigit(static_cast<unsigned char>(c)))
        c = static_cast<char>('0' + r() % 10);
      else
        c = static_cast<char>(c ^ (1 << r() % 8));
    }
    ASSERT_NO_FATAL_FAILURE(try_text(text));
  }
  EXPECT_GT(taken_, 100);
  EXPECT_GT(refused_, 500);
}

// Parts of it moved, doubled and dropped.
TEST_F(SessionFuzz, ShuffledParts) {
  test::Random r(7);
  for (int i = 0; i < 500; i++) {
    std::string text = valid_;
    for (int64_t n = test::between(r, 1, 4); n > 0; n--) {
      size_t from = r() % text.size(), length = r() % 40;
      std::string part = text.substr(from, length);
      if (r() % 2) text.erase(from, length);
      text.insert(r() % (text.size() + 1), part);
      if (text.empty()) break;
    }
    ASSERT_NO_FATAL_FAILURE(try_text(text));
  }
  EXPECT_GT(refused_, 100);
}

}  // namespace
}  // namespace convscope
