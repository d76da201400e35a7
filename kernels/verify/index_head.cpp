#include "kernels/verify/index_head.h"

#include <fmt/format.h>

namespace convscope::index_loop::head {

Loop loop_of(const Elements& of) {
  const bool outs = of.channel == co;
  const std::string position = outs ? "j" : "i", channel = outs ? "co" : "ci", an = std::string("an ") + of.one,
                    other = of.other;
  Loop l;
  l.definition = {{N},           {of.channels}, {of.length},   {of.length},    {of.length},
                  {of.channels}, {of.length},   {of.channels}, {Cin},          {g},
                  {Cout},        {g},           {of.channel},  {of.own_group}, {of.other_group}};
  l.statements = {
      {guard_n, 3, "e < {}·{}·{}", std::string("the test for the end of ") + (outs ? "y" : "x")},
      {position_length, 1, position + " = e mod {}", "the position of " + an},
      {channel_length, 2, channel + " = e/{} mod {}", "the channel of " + an},
      {n_length, 2, "n = e/({}·{})", "the sequence of " + an},
      {in_all, 2, "{}/{}", "the number of input channels of a group"},
      {out_all, 2, "{}/{}", "the number of output channels of a group"},
      {first_channel, 3, "{}/{}·{}", "the first " + other + " channel of " + an + "'s group"},
  };
  l.operators = {
      {guard_adds, guard_n, "e < {} + {}·{}"},
      {guard_adds_length, guard_n, "e < {}·{} + {}"},
      {position_divides, position_length, position + " = e/{}"},
      {channel_divides, channel_length, channel + " = e/{}/{}"},
      {channel_mod, channel_length, channel + " = e mod {} mod {}"},
      {channel_times, channel_length, channel + " = e·{} mod {}"},
      {n_mod, n_length, "n = e/{} mod {}"},
      {n_rest, n_length, "n = (e mod {})/{}"},
      {out_times, out_all, "{}·{}"},
      {first_mod, first_channel, "{} mod {}·{}"},
      {first_product, first_channel, "{}·{}·{}"},
      {first_adds, first_channel, "{}/{} + {}"},
  };
  for (const char* word : {"e mod", "e/", "e·", "e < "}) l.names.push_back({word, "e: " + an + "'s place in memory"});
  l.names.push_back({"first", "first: the first " + other + " channel of the " + of.one + "'s group"});
  return l;
}

bool in_scope(Operand o, const Elements& of, int at) {
  if (o < e || o >= zero) return (o != Cig && o != Cog) || at >= first_channel;
  if (o == e) return true;
  if (o == of.position || o == of.channel || o == n) return at >= in_all;
  return o == first && at >= places;
}

Begins begin(const Program& q, const Elements& of, Values& o) {
  bool fails = false;
  auto value = [&](Place place) { return o[q.slots[place].operand] + q.slots[place].add; };
  auto over = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a / b; };
  auto rest = [&](int64_t a, int64_t b) { return b == 0 ? (fails = true, 0) : a % b; };
  const int64_t element = o[e], all = value(guard_n), rows = value(guard_channels), row = value(guard_length);
  if (element >= (q.has(guard_adds)          ? all + rows * row
                  : q.has(guard_adds_length) ? all * rows + row
                                             : all * rows * row))
    return Begins::no;
  o[of.position] =
      q.has(position_divides) ? over(element, value(position_length)) : rest(element, value(position_length));
  const int64_t of_rows = q.has(channel_mod)     ? rest(element, value(channel_length))
                          : q.has(channel_times) ? element * value(channel_length)
                                                 : over(element, value(channel_length));
  o[of.channel] =
      q.has(channel_divides) ? over(of_rows, value(channel_channels)) : rest(of_rows, value(channel_channels));
  o[n] = q.has(n_mod)    ? rest(over(element, value(n_length)), value(n_channels))
         : q.has(n_rest) ? over(rest(element, value(n_length)), value(n_channels))
                         : over(over(element, value(n_length)), value(n_channels));
  o[Cig] = over(value(in_all), value(in_groups));
  o[Cog] = q.has(out_times) ? value(out_all) * value(out_groups) : over(value(out_all), value(out_groups));
  const int64_t group = q.has(first_mod)       ? rest(value(first_channel), value(first_by))
                        : q.has(first_product) ? value(first_channel) * value(first_by)
                                               : over(value(first_channel), value(first_by));
  o[first] = q.has(first_adds) ? group + value(first_times) : group * value(first_times);
  return fails ? Begins::fails : Begins::yes;
}

}  // namespace convscope::index_loop::head
