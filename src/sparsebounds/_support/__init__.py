"""What every layer stands on: arrays, rounding, checks, files, numbers and words in print."""
