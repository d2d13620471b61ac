"""An older name of the package ``slipway``, so that existing drivers run unchanged."""
