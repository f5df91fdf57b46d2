# SPDX-License-Identifier: BSD-3-Clause
"""Parts of perf/compare: jobs of each side, rounds, rows, and the page with plots."""
