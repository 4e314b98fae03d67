"""What all benchmarks share: problems, clocks, memory, machine, bars, pages, commands and peers."""
