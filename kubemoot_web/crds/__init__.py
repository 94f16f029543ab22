"""Configuration in the shape of Kubernetes: one schema per kind, for REST, files, manifests and forms."""
