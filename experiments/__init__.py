"""The paper's tables and figures on real data: the paper, its methods, the default."""
