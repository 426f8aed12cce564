"""Load an address and measure: python -m scripts.benchmark --operations embeddings,speech --callers 16 --seconds 20"""

from scripts.benchmark.product.under_load import main

if __name__ == "__main__":
    main()
