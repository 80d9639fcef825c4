"""The commands that join ``bitfm``: ``bench``, ``paper`` and ``data prepare``."""
