"""The Helm chart for Kubernetes, rendered and checked as far as no cluster is needed."""
