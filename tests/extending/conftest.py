"""Files that are not tests are what somebody else would write: each is imported by its test only."""

collect_ignore_glob = ["[!t]*.py"]
