"""Word mover's distances of bags of words, on a CPU and on a GPU."""
