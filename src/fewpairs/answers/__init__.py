"""What an approximation is asked: neighbors, searches, clusters, new items."""
