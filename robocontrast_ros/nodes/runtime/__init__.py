"""Common parts of all node processes: executor, channel, parameters, quality of service, start and end."""
