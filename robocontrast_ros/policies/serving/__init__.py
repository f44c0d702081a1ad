"""What stands between a policy and whoever asks it: checks, time limits, another policy while it runs."""
