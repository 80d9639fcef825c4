"""``python -m bitfm`` is the command line."""

from bitfm.cli import main

if __name__ == "__main__":
    main()
