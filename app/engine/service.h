// What the engine can do, apart from how requests reach it: one call a request.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/engine/codec.h"
#include "app/engine/frame.h"
#include "kernels/base/activity.h"

namespace convscope {

class Service {
 public:
  Service();
  ~Service();

  struct Reply {
    std::string header;  // JSON without type and id
    std::vector<std::byte> payload;
  };

  // May it be answered while a run is under way? (They look at what is already there.)
  static bool is_light(const std::string& type);
  // Seconds without a beat after which a client may take the engine for hung, for this request, while a kernel runs or
  // not.
  static double patience_s(const nlohmann::json& request, bool kernel_runs);

  // Answers one request. Heavy requests one at a time; light ones from any thread beside them. `partial` may be called
  // with headers before the end. Errors: as exceptions, see error_json().
  Reply handle(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity,
               const std::function<void(const std::string& header)>& partial);

 private:
  struct State;
  class Sampler;
  Reply answer(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity,
               const std::function<void(const std::string& header)>& partial);
  nlohmann::json resolved(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity,
                          nlohmann::json& choice);
  Reply export_one(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply run(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity,
            const std::function<void(const std::string& header)>& partial);
  Reply explain_one(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply beside(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply judge(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply fix(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply xray_one(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity,
                 const std::function<void(const std::string&)>& partial);
  Reply profile_one(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply draw(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply sample(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply disassemble_one(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply live(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply bench_several(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply tile(const nlohmann::json& request);
  Reply find(const nlohmann::json& request);
  Reply numbers(const nlohmann::json& request);
  Reply tensor(const nlohmann::json& request);
  Reply statistics(const nlohmann::json& request, Activity& activity);
  Reply trace(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  Reply source(const nlohmann::json& request);
  Reply kernel_file(const nlohmann::json& request, std::span<const std::byte> payload, Activity& activity);
  void compile_for_device(const nlohmann::json& request, Activity& activity);
  Reply list(const nlohmann::json& request);
  Reply info();

  std::unique_ptr<State> state_;
};

}  // namespace convscope
