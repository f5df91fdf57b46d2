# SPDX-License-Identifier: BSD-3-Clause
"""What perf/compare is made of: jobs of each side, rounds, rows, and the page with plots."""
