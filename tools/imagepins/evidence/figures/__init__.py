"""Result files of serving benchmarks → comparison: table, JSON, plot, limits."""
