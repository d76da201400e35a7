// Streams and events of a followed module (python_values.h; PyTorch's documentation of torch.cuda.Stream and
// torch.cuda.Event). What they order is noted down as host code's is.
#include "kernels/runtime/compile/python_values.h"

namespace convscope::host {
namespace {

PythonValue made(PythonObject::Kind kind, uintptr_t handle) {
  auto o = std::make_shared<PythonObject>();
  o->kind = kind, o->sizes = {static_cast<int64_t>(handle)};
  return {o};
}
uintptr_t handle_of(const PythonObject& o) { return static_cast<uintptr_t>(o.sizes.front()); }
uintptr_t stream_in(const PythonValue* v) {
  if (!v || is_none(*v)) return current_stream();
  const PythonObjectPointer o = object_in(*v);
  return o && o->kind == PythonObject::stream ? handle_of(*o) : throw NotFollowed{};
}
uintptr_t event_in(const PythonArguments& a) {
  const PythonValue* v = a.find("event", 0);
  const PythonObjectPointer o = v ? object_in(*v) : nullptr;
  return o && o->kind == PythonObject::event ? handle_of(*o) : throw NotFollowed{};
}

}  // namespace

std::optional<PythonValue> function_of_streams(const std::string& path, const PythonArguments& a) {
  // PyTorch's are of a pool, and do not wait for the default one.
  if (path == "torch.cuda.Stream" || path == "torch.Stream") return made(PythonObject::stream, new_stream(false));
  if (path == "torch.cuda.current_stream") return made(PythonObject::stream, current_stream());
  if (path == "torch.cuda.default_stream") return made(PythonObject::stream, 0);
  if (path == "torch.cuda.Event" || path == "torch.Event") return made(PythonObject::event, new_event());
  if (path == "torch.cuda.synchronize") return synchronize_all(), PythonValue{};
  if (path == "torch.cuda.set_stream")
    return enter_stream(a.by_place.empty() ? PythonValue{} : a.by_place[0]), PythonValue{};
  return {};
}

void enter_stream(const PythonValue& stream) {
  if (!is_none(stream)) set_current_stream(stream_in(&stream));
}

PythonValue stream_attribute(const PythonObject& of, const std::string& name) {
  if (name == "cuda_stream" || name == "stream_id") return {of.sizes.front()};
  if (name == "device") return python_path("torch.device");
  throw NotFollowed{};
}

PythonValue stream_method(const PythonObject& of, const std::string& name, const PythonArguments& a) {
  const uintptr_t own = handle_of(of);
  if (of.kind == PythonObject::event) {
    if (name == "record") return record_event(own, stream_in(a.find("stream", 0))), PythonValue{};
    if (name == "wait") return wait_for_event(stream_in(a.find("stream", 0)), own), PythonValue{};
    if (name == "synchronize") return synchronize_event(own), PythonValue{};
    throw NotFollowed{};
  }
  if (name == "wait_stream") {
    const PythonValue* other = a.find("stream", 0);
    if (!other) throw NotFollowed{};
    const uintptr_t event = new_event();
    record_event(event, stream_in(other)), wait_for_event(own, event);
    return {};
  }
  if (name == "wait_event") return wait_for_event(own, event_in(a)), PythonValue{};
  if (name == "record_event") {
    const PythonValue event =
        a.by_place.empty() && a.by_name.empty() ? made(PythonObject::event, new_event()) : *a.find("event", 0);
    record_event(event_in({{event}, {}}), own);
    return event;
  }
  if (name == "synchronize") return synchronize(own), PythonValue{};
  throw NotFollowed{};
}

}  // namespace convscope::host
