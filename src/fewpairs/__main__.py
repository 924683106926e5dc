"""`python -m fewpairs` is the command line, also where no script is on the path."""

from fewpairs.cli import main

main()
