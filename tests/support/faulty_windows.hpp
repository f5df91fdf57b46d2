// SPDX-License-Identifier: BSD-3-Clause
// faulty_windows.hpp - faulty bank rules for negative controls, each with one error.
//
// Next     run/execute/window.hpp for the correct rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "run/execute/window.hpp"

namespace weft::test {

/// Remembers far more calls than there are banks, so that a failure has no cause but the rule.
class WideWindow : public run::Window {
  public:
    explicit WideWindow(std::uint32_t banks) : Window(kWide) { reuse_ = banks / 2; }

  protected:
    static constexpr std::uint32_t kWide = 1024;
};

/// Requests its barrier one call too late, and starts that barrier without regard to completions.
class LateWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;
    bool needs_barrier() const override {
        if (last_synchronizing_ >= next_ - reuse_) return false;
        barriers_.insert(next_);
        return true;
    }
    bool may_start(run::Epoch epoch) override {
        if (barriers_.contains(epoch)) return first_incomplete_ > epoch - reuse_;
        return WideWindow::may_start(epoch);
    }

  private:
    mutable std::set<run::Epoch> barriers_;
};

/// Requires fewer than H outstanding calls, instead of completion of all calls up to e-H.
class CountingWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;
    bool may_start(run::Epoch epoch) override {
        const auto out_of_order = std::ranges::count(complete_, true);
        return epoch - (first_incomplete_ + out_of_order) < reuse_ &&
               last_synchronized_ >= epoch - reuse_;
    }
};

/// Starts calls one bank too early.
class GreedyWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;

  protected:
    bool is_returned(run::Epoch epoch) override { return WideWindow::is_returned(epoch - 1); }
};

/// Counts each credit twice.
class DoublingWindow : public WideWindow {
  public:
    using WideWindow::WideWindow;

  protected:
    void give(run::Epoch completed) override { WideWindow::give(2 * completed); }
};

/// Gives no credit after the first batches.
class LosingWindow : public run::Window {
  public:
    using Window::Window;

  protected:
    void give(run::Epoch completed) override {
        if (completed <= 2 * batch()) Window::give(completed);
    }
};

}  // namespace weft::test
