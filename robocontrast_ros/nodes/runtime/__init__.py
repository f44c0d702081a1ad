"""What every node process needs: executor, parameters, quality of service, start and end."""
