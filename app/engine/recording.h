// A recording: what engines answered on a GPU, kept in a session file (interface.md, "A session file"), to be looked at
// where there is no GPU.
//
// Questions and answers are kept as they were sent, whatever is in them; what is known of them here is only what they
// are about: the kernel, the problem, its inputs and the accuracy.
#pragma once
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/engine/codec.h"

namespace convscope {

inline constexpr const char* session_type = "convscope-session";
inline constexpr int session_version = 1;
inline constexpr size_t most_recorded_answers = 16384;

struct RecordedAnswer {
  nlohmann::json request, answer;  // headers, without ids
  std::vector<std::byte> payload;
  std::string date;             // 2026-11-22
  RunRequest asked;             // what `request` says
  nlohmann::json unknown = {};  // fields of other versions: kept when it is written again
  std::string type() const { return request.value("type", ""); }
};

struct Recording {
  nlohmann::json about = nlohmann::json::object();  // device, convscope, date, command, info; fields of others are kept
  std::vector<RecordedAnswer> answers;

  bool empty() const { return answers.empty(); }
  std::string device_name() const;
  // "NVIDIA H200, 2026-11-22": what stands behind "recorded: ".
  std::string source() const;
  std::string source(const RecordedAnswer& a) const;

  // The newest answer of a type to this question: same problem, inputs and seed, and for run and profile the same
  // kernel and accuracy. Null: there is none.
  const RecordedAnswer* find(const std::string& type, const RunRequest& asked) const;
  // Kernels and references with an answer of this type on this problem, in the order in which they were recorded.
  std::vector<std::string> kernels(const std::string& type, const ConvProblem& problem) const;
  std::vector<ConvProblem> problems() const;  // each once, in the order in which they were recorded

  // Takes the place of an answer to the same question. Errors: InputError when the request cannot be read, or has
  // values of a file, which are not part of a recording.
  void add(nlohmann::json request, nlohmann::json answer, std::vector<std::byte> payload, const std::string& date);
};

// Of the field "recording" of a session; an absent one gives an empty recording.
// Errors: InputError naming the file and what is wrong.
Recording recording_from(const nlohmann::json& session, const std::string& path);
nlohmann::json recording_json(const Recording& r);

// A session file that holds a recording: the field, and a problem and a kernel to begin with (the fastest
// one that is right). `session`: other fields that are to stay.
nlohmann::json session_of(const Recording& r, nlohmann::json session = nlohmann::json::object());

// The answer as it is shown: sources say "recorded: NVIDIA H200, 2026-11-22" where they said measured or counted, and a
// field "recorded" has device, date and convscope. Emulated figures stay emulated. There is no key of tensors any more.
nlohmann::json shown_answer(const Recording& r, const RecordedAnswer& a);

// What is kept of the text of a kernel's file, as `text_hash` of the answer's kernel: FNV-1a, 64 bits, in hexadecimal.
// The text itself is not part of a recording.
std::string kernel_text_hash(const std::string& text);
// The answer is about a kernel's file that is there and holds something else by now.
bool is_of_another_text(const RecordedAnswer& a);
// The same of a kernel by its name and the hash that was kept of its text; "": none was.
bool is_of_another_text(const std::string& kernel, const std::string& then);

// "measured" → "recorded: NVIDIA H200, 2026-11-22"; "counted by hardware" → "recorded: …, counted by hardware".
std::string recorded_source(const std::string& source, const std::string& recorded);

// The recordings that come with the program, sorted by name: beside it (share/convscope/recordings), or in the
// project's assets while it is being built.
// What else is there: "lessons". "": no such folder.
std::string shipped_folder(const std::string& what);
struct ShippedRecording {
  std::string name, path;  // h200-kernelbench-79
};
std::vector<ShippedRecording> shipped_recordings();
// A path, or the name of one that comes with the program. Errors: InputError("recording", …) with the nearest name.
std::string recording_path(const std::string& name_or_path);
// Reads a file that must hold a recording, of a version that this program knows. Errors: InputError("recording", …).
Recording read_recording(const std::string& path);
// Whether a file that is there is a recording, readable or not: what another recording may take the place of.
bool is_recording_file(const std::string& path);

}  // namespace convscope
