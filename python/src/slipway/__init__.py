"""What the author of a Slipway driver imports.

``slipway.actions`` holds the context that an action is given and the primitives that it
calls. Nothing here talks to Kubernetes: a primitive asks Slipway, and Slipway acts.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
