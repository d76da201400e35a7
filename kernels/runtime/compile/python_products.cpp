// torch.einsum() of a followed module (python_values.h): of one tensor its dimensions in another order, of two a matrix
// product, as PyTorch makes one of it too.
#include <algorithm>

#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {
namespace {

bool holds(const std::string& letters, char c) { return letters.find(c) != letters.npos; }

Sizes places(const std::string& wanted, const std::string& have) {
  Sizes all;
  for (const char c : wanted) {
    const size_t at = have.find(c);
    if (at == have.npos) throw NotFollowed{};
    all.push_back(static_cast<int64_t>(at));
  }
  return all;
}
int64_t sizes_of(const std::string& letters, const std::string& have, const Tensor& t) {
  int64_t all = 1;
  for (const int64_t d : places(letters, have)) all *= t.size(d);
  return all;
}

}  // namespace

Tensor einsum(const PythonOperations& ops, const PythonArguments& a) {
  std::string how = a.by_place.empty() ? "" : string_of(a.by_place.front());
  std::erase(how, ' ');
  const size_t arrow = how.find("->"), comma = how.find(',');
  if (arrow == how.npos || !a.by_name.empty() || how.find('.') != how.npos) throw NotFollowed{};
  std::string of_a = how.substr(0, std::min(comma, arrow)), to = how.substr(arrow + 2);
  const std::string of_b = comma == how.npos ? "" : how.substr(comma + 1, arrow - comma - 1);
  for (const std::string& letters : {of_a, of_b, to})
    for (size_t i = 0; i < letters.size(); i++)
      if (letters.find(letters[i], i + 1) != letters.npos) throw NotFollowed{};  // a diagonal
  auto tensor = [&](size_t i, const std::string& letters) -> const Tensor& {
    const Tensor* t = i < a.by_place.size() ? tensor_in(a.by_place[i]) : nullptr;
    if (!t || t->dim() != static_cast<int64_t>(letters.size())) throw NotFollowed{};
    return *t;
  };
  const Tensor& first = tensor(1, of_a);
  if (comma == how.npos) {
    if (a.by_place.size() != 2 || of_a.size() != to.size()) throw NotFollowed{};
    return first.permute(places(to, of_a));
  }
  if (a.by_place.size() != 3 || of_b.find(',') != of_b.npos || !ops.matmul) throw NotFollowed{};
  const Tensor& second = tensor(2, of_b);
  // What both have and the result too stands apart in each product, what the result lacks is summed over; as PyTorch
  // has them, in the result's order.
  std::string each, summed, rows, columns;
  for (const char c : to) {
    const bool left = holds(of_a, c), right = holds(of_b, c);
    (left && right ? each : left ? rows : columns) += c;
  }
  for (const char c : of_a)
    if (!holds(to, c)) holds(of_b, c) ? summed += c : throw NotFollowed{};
  for (const char c : of_b)
    if (!holds(to, c) && !holds(of_a, c)) throw NotFollowed{};
  for (const char c : each + summed)
    if (first.size(places({c}, of_a)[0]) != second.size(places({c}, of_b)[0])) throw NotFollowed{};
  auto matrices = [&](const Tensor& t, const std::string& have, const std::string& left, const std::string& right) {
    const Tensor turned = t.permute(places(each + left + right, have));
    const Sizes sizes{sizes_of(each, have, t), sizes_of(left, have, t), sizes_of(right, have, t)};
    const auto view = turned.as_view(sizes);
    return view ? *view : ops.clone(turned).view(sizes);
  };
  const Tensor product = ops.matmul(matrices(first, of_a, rows, summed), matrices(second, of_b, summed, columns));
  Sizes sizes;
  for (const char c : each + rows) sizes.push_back(first.size(places({c}, of_a)[0]));
  for (const char c : columns) sizes.push_back(second.size(places({c}, of_b)[0]));
  return product.view(sizes).permute(places(to, each + rows + columns));
}

}  // namespace convscope::host
