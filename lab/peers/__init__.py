"""The product beside what people use today."""
