"""`python -m leakscope`."""

from leakscope.cli.app import main

main()
