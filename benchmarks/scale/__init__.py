"""Time and memory: as m grows, with threads, on a GPU, from files, on a cluster, reading tables."""
