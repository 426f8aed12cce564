"""The images and the compose file, run for real where there is a container engine: ``python -m lab.containers``."""
