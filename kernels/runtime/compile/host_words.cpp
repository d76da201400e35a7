#include "convscope/host_words.h"

#include <sstream>
#include <stdexcept>

namespace convscope::host {

Word::~Word() = default;

void Word::write_to(std::ostream& out) const {
  switch (kind_) {
    case Kind::number:
      out << number_;
      break;
    case Kind::natural:
      out << static_cast<unsigned long long>(number_);
      break;
    case Kind::letter:
      out << static_cast<char>(number_);
      break;
    case Kind::real:
      out << real_;
      break;
    case Kind::address:
      out << other_;
      break;
    case Kind::text:
      out << text_;
      break;
    case Kind::own:
      out << own_;
      break;
    case Kind::other:
      write_(out, other_);
      break;
  }
}

std::string put_together(std::initializer_list<Word> words) {
  std::ostringstream out;
  for (const Word& w : words) w.write_to(out);
  return out.str();
}

void refuse_in_words(std::initializer_list<Word> words) {
  throw std::runtime_error(words.size() ? put_together(words) : "its own check fails");
}

}  // namespace convscope::host
