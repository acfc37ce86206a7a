"""Where a norm comes from: the stationary norm equation, the radial chain, and controlled training."""
