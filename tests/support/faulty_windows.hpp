// SPDX-License-Identifier: BSD-3-Clause
// faulty_windows.hpp - bank rules with one error each, which tests must detect.
//
// Next     run/execute/window.hpp for the correct rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "run/execute/window.hpp"

namespace weft::test {

/// Base of faulty rules. Records the completion of far more calls than the banks require, so that
/// only the faulty rule can fail a test.
class WideWindow : public run::Window {
  public:
    explicit WideWindow(std::uint32_t banks) : Window(kWide) { half_ = banks / 2; }

  protected:
    static constexpr std::uint32_t kWide = 1024;  ///< calls whose completion is recorded
};

/// Requests a barrier one call too late, and starts the barrier without a complete recent
/// synchronizing call.
class LateWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;
    bool needs_barrier() const override {
        if (last_sync_issued_ >= next_ - half_) return false;
        barriers_.insert(next_);
        return true;
    }
    bool may_start(run::Epoch epoch) override {
        if (barriers_.contains(epoch)) return first_incomplete_ > epoch - half_;
        return WideWindow::may_start(epoch);
    }

  private:
    mutable std::set<run::Epoch> barriers_;
};

/// Starts call e if fewer than H calls are incomplete (H: half the number of banks). The correct
/// rule requires that all calls up to e-H are complete.
class CountingWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;
    bool may_start(run::Epoch epoch) override {
        const auto out_of_order = std::ranges::count(complete_, true);
        return epoch - (first_incomplete_ + out_of_order) < half_ &&
               last_sync_complete_ >= epoch - half_;
    }
};

/// Starts call e when all ranks have returned credits for the calls up to e-W-1, instead of e-W
/// (W: number of banks).
class GreedyWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;

  protected:
    bool credits_free_bank_of(run::Epoch epoch) override {
        return WideWindow::credits_free_bank_of(epoch - 1);
    }
};

/// Returns credits for twice the number of complete calls.
class DoublingWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;

  protected:
    void give(run::Epoch completed) override { WideWindow::give(2 * completed); }
};

/// Returns credits for the first two batches of calls only.
class LosingWindow : public run::Window {
  public:
    using Window::Window;

  protected:
    void give(run::Epoch completed) override {
        if (completed <= 2 * batch()) Window::give(completed);
    }
};

}  // namespace weft::test
