"""How time and memory grow: with m, on a GPU, from files, on a cluster, and reading tables."""
