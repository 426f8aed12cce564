"""The chart for Kubernetes: rendered by Helm and held to what can be known without a cluster."""
