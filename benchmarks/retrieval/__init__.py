"""Retrieval: the most similar right items of every left one, few evaluations each."""
