// SPDX-License-Identifier: Apache-2.0
// Copyright The rocbridge Authors
#include "trace/reader.hpp"

#include <algorithm>
#include <cstring>
#include <queue>

#include "trace/cursor.hpp"
#include "trace/index.hpp"
#include "trace/record_view.hpp"

namespace rb::trace {
namespace {

/// Copies what both sides have of a structure that only grows.
template <class T>
bool copy_prefix(std::span<const char> bytes, std::size_t least, T* out) {
  if (bytes.size() < least) return false;
  std::memcpy(static_cast<void*>(out), bytes.data(), std::min(bytes.size(), sizeof(T)));
  return true;
}

/// One ring's records as a source of events.
struct Source {
  Source(Index* index, FileCache* files, const RingIndex& ring)
      : cursor(index, files, ring), process(&index->processes.at(ring.process)), tid(ring.tid) {}

  Cursor cursor;
  const ProcessIndex* process;
  std::uint32_t tid;
  bool is_damage = false;
  bool is_last_gap = false;
  bool done = false;
  std::uint64_t dropped_told = 0;
  std::uint64_t key = 0;        ///< never falls, so that a ring keeps its order
  std::uint64_t time = 0;       ///< of the current record
  std::uint64_t last_time = 0;  ///< of the one before
};

class Decoder {
 public:
  Decoder(const RecordView& record, const ProcessIndex& process) : record_(record), process_(process) {}

  void decode(Event* event) {
    switch (record_.kind()) {
      case Kind::thread_start:
        event->body = ThreadStart{record_.text(Tag::name)};
        return;
      case Kind::thread_end:
        event->body = ThreadEnd{};
        return;
      case Kind::setting:
        event->body = SettingEvent{record_.text(Tag::name), record_.text(Tag::value), record_.text(Tag::origin)};
        return;
      case Kind::device:
        event->body =
            DeviceEvent{record_.fixed<DeviceFixed>(), record_.text(Tag::name), record_.text(Tag::architecture),
                        record_.text(Tag::directory), record_.text(Tag::text)};
        return;
      case Kind::call_begin:
        call_begin(event);
        return;
      case Kind::call_end: {
        const auto fixed = record_.fixed<CallEndFixed>();
        event->body = CallEnd{fixed, names().entry(fixed.entry), process_.clock.duration(fixed.duration)};
        return;
      }
      case Kind::amd_call: {
        const auto fixed = record_.fixed<AmdCallFixed>();
        event->body = AmdCall{fixed, names().function(fixed.function), record_.text(Tag::solution),
                              process_.clock.duration(fixed.duration)};
        return;
      }
      case Kind::layout:
        event->body = LayoutEvent{record_.fixed<LayoutFixed>(), record_.text(Tag::name), record_.text(Tag::text)};
        return;
      case Kind::allocation:
        event->body = AllocationEvent{record_.fixed<AllocationFixed>()};
        return;
      case Kind::check: {
        const auto fixed = record_.fixed<CheckFixed>();
        event->body = CheckEvent{fixed,
                                 names().entry(fixed.entry),
                                 record_.text(Tag::name),
                                 record_.text(Tag::shape),
                                 record_.text(Tag::tolerance),
                                 record_.text(Tag::reason),
                                 record_.text(Tag::text),
                                 record_.text(Tag::reproducer)};
        return;
      }
      case Kind::refusal: {
        const auto fixed = record_.fixed<RefusalFixed>();
        event->body = RefusalEvent{fixed,
                                   names().entry(fixed.entry),
                                   record_.text(Tag::reason),
                                   record_.text(Tag::text),
                                   record_.text(Tag::remedy),
                                   record_.text(Tag::where)};
        return;
      }
      case Kind::note:
        event->body = NoteEvent{record_.fixed<NoteFixed>(), record_.text(Tag::component), record_.text(Tag::text)};
        return;
      case Kind::gap: {
        const auto fixed = record_.fixed<GapFixed>();
        event->body =
            GapEvent{GapCause::dropped, fixed.records, 0, process_.clock.ns(fixed.from), process_.clock.ns(fixed.to)};
        return;
      }
      case Kind::tensor:
        tensor(event);
        return;
      case Kind::none:
      case Kind::process:
      case Kind::names:
        break;
    }
    event->body = UnknownEvent{record_.header().kind};
  }

 private:
  const Process& names() const { return *process_.process; }

  void call_begin(Event* event) {
    CallBegin out;
    out.fixed = record_.fixed<CallBeginFixed>();
    out.name = names().entry(out.fixed.entry);
    record_.items([&](const ItemHeader& item, const char* content) {
      switch (static_cast<Tag>(item.tag)) {
        case Tag::argument: {
          Argument argument{item.index, static_cast<ArgumentKind>(item.type), 0};
          std::memcpy(&argument.word, content, std::min<std::size_t>(item.size, sizeof argument.word));
          out.arguments.push_back(argument);
          break;
        }
        case Tag::snapshot:
          out.snapshots.push_back({item.index, static_cast<SnapshotKind>(item.type), {content, item.size}});
          break;
        case Tag::stream:
          out.has_stream = true;
          std::memcpy(&out.stream, content, std::min<std::size_t>(item.size, sizeof out.stream));
          break;
        default:
          break;
      }
    });
    event->body = std::move(out);
  }

  void tensor(Event* event) {
    TensorEvent out;
    out.fixed = record_.fixed<TensorFixed>();
    out.name = record_.text(Tag::name);
    const std::string_view dims = record_.text(Tag::dims);
    out.dims.resize(dims.size() / sizeof(std::int64_t));
    if (!out.dims.empty()) std::memcpy(out.dims.data(), dims.data(), out.dims.size() * sizeof(std::int64_t));
    const std::string_view data = record_.text(Tag::data);
    out.data = {data.data(), data.size()};
    event->body = std::move(out);
  }

  const RecordView& record_;
  const ProcessIndex& process_;
};

}  // namespace

bool Snapshot::get(TensorSnapshot* out) const {
  if (kind != SnapshotKind::tensor && kind != SnapshotKind::filter) return false;
  if (!copy_prefix(bytes, 8, out)) return false;
  out->rank = std::min<std::uint8_t>(out->rank, 8);
  return true;
}

bool Snapshot::get(ConvolutionSnapshot* out) const {
  if (kind != SnapshotKind::convolution || !copy_prefix(bytes, 8, out)) return false;
  out->rank = std::min<std::uint8_t>(out->rank, 4);
  return true;
}

class Reader::Impl {
 public:
  explicit Impl(std::unique_ptr<Index> index) : index_(std::move(index)), files_(*index_) {
    for (auto& [key, process] : index_->processes) starts_.push_back(&process);
    std::sort(starts_.begin(), starts_.end(),
              [](const ProcessIndex* a, const ProcessIndex* b) { return a->process->start_ns < b->process->start_ns; });
    for (const auto& [key, ring] : index_->rings) {
      sources_.push_back(std::make_unique<Source>(index_.get(), &files_, ring));
      advance(sources_.back().get());
    }
    for (const ProcessIndex* start : starts_) processes_.push_back(start->process.get());
  }

  bool next(Event* event) {
    // Processes come first, so that their names are known before their calls.
    if (started_ < starts_.size()) {
      *event = Event{};
      event->process = starts_[started_++]->process.get();
      event->time_ns = event->process->start_ns;
      event->body = ProcessEvent{};
      return true;
    }
    // Only now: the strings of the event given out before lie in its source's buffer.
    if (given_ != nullptr) {
      advance(given_);
      given_ = nullptr;
    }
    if (queue_.empty()) return false;
    Source* source = queue_.top();
    queue_.pop();
    give(source, event);
    given_ = source;
    return true;
  }

  const Index& index() const { return *index_; }
  const std::vector<const Process*>& processes() const { return processes_; }

 private:
  struct Later {
    bool operator()(const Source* a, const Source* b) const {
      if (a->key != b->key) return a->key > b->key;
      const RingIndex& left = a->cursor.ring();
      const RingIndex& right = b->cursor.ring();
      if (left.process != right.process) return left.process > right.process;
      return left.ring > right.ring;
    }
  };

  void advance(Source* source) {
    if (source->done) return;
    source->last_time = source->time;
    const Clock& clock = source->process->clock;
    const Cursor::Step step = source->cursor.step();
    source->is_damage = step == Cursor::Step::damage;
    if (step == Cursor::Step::end) {
      source->done = true;
      const RingIndex& ring = source->cursor.ring();
      if (ring.dropped <= source->dropped_told) return;
      source->is_last_gap = true;
      source->time = clock.ns(ring.dropped_from);
    } else if (step == Cursor::Step::record) {
      source->time = clock.ns(RecordView(source->cursor.record()).header().time);
    }
    source->key = std::max(source->key, source->time);
    queue_.push(source);
  }

  void give(Source* source, Event* event) {
    const RingIndex& ring = source->cursor.ring();
    const Clock& clock = source->process->clock;
    event->process = source->process->process.get();
    event->ring = ring.ring;
    event->tid = source->tid;
    event->time_ns = source->key;
    event->number = 0;
    event->position = 0;
    if (source->is_last_gap) {
      event->body = GapEvent{GapCause::dropped, ring.dropped - source->dropped_told, 0, clock.ns(ring.dropped_from),
                             clock.ns(ring.dropped_to)};
      return;
    }
    if (source->is_damage) {
      const Cursor::Lost& lost = source->cursor.lost();
      event->body = GapEvent{GapCause::damage, lost.records, lost.bytes, source->last_time, source->time};
      return;
    }
    const RecordView record(source->cursor.record());
    event->number = record.header().number;
    event->position = source->cursor.position();
    if (record.kind() == Kind::thread_start) source->tid = event->tid = record.fixed<ThreadFixed>().tid;
    if (record.kind() == Kind::gap) source->dropped_told = record.fixed<GapFixed>().total;
    Decoder(record, *source->process).decode(event);
  }

  std::unique_ptr<Index> index_;
  FileCache files_;
  std::vector<const ProcessIndex*> starts_;
  std::vector<const Process*> processes_;
  std::size_t started_ = 0;
  std::vector<std::unique_ptr<Source>> sources_;
  std::priority_queue<Source*, std::vector<Source*>, Later> queue_;
  Source* given_ = nullptr;
};

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> Reader::open(const std::string& directory) {
  RB_ASSIGN(std::unique_ptr<Index> index, build_index(directory));
  return std::unique_ptr<Reader>(new Reader(std::make_unique<Impl>(std::move(index))));
}

bool Reader::next(Event* event) {
  return impl_->next(event);
}
const std::vector<const Process*>& Reader::processes() const {
  return impl_->processes();
}
const std::vector<Damage>& Reader::damage() const {
  return impl_->index().damage;
}
std::uint64_t Reader::damage_count() const {
  return impl_->index().damage_count;
}
std::uint64_t Reader::segment_count() const {
  return impl_->index().segments;
}
std::uint64_t Reader::ring_file_count() const {
  return impl_->index().ring_files;
}
std::uint64_t Reader::bytes() const {
  return impl_->index().bytes;
}

}  // namespace rb::trace
