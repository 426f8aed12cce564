"""The product's models on an NVIDIA GPU, part by part: what is there, is it right, how fast, beside what people use."""
