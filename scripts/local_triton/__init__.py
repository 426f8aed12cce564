"""The embedded Triton: the tritonserver binary of a PyPI wheel, for laptops, tests and CI."""
