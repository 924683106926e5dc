"""The result of a run: answers, certificate, bill, and its files."""
