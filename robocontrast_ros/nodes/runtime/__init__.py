"""What every node process needs: executor, channel, parameters, quality of service, start and end."""
